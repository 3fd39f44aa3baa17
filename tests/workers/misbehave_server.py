"""A fork server whose jobs misbehave on purpose. The attempt's source is run as it stands."""

import os
import sys

from tutor.protocol import CaseResult
from tutor.wire import Hello, Judged, Loaded
from tutor.workers.forkserver import serve


def run(job, send):
    scope = {"send": send, "os": os, "sys": sys, "Loaded": Loaded, "Judged": Judged, "CaseResult": CaseResult}
    exec(job.attempt.source.decode(), scope)


if __name__ == "__main__":
    serve(run, Hello(versions={}))
