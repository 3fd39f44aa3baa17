"""The judge server: `python -I -m tutor.judge`. The same warm fork server as the stage's, for trusted work."""

from __future__ import annotations

import sys
import warnings

from tutor.workers import environment

environment.prepare()  # before JAX is imported

from tutor.jaxpr import compat
from tutor.judge import jobs
from tutor.wire import Hello
from tutor.workers.forkserver import serve
from tutor.workers.jail import jail_named


def main() -> None:
    """Serve until stdin ends."""
    warnings.filterwarnings("ignore", message=r"os\.fork\(\) was called")
    compat.preload()
    serve(jobs.run, Hello(versions=compat.versions()), jail_named(sys.argv))


if __name__ == "__main__":
    main()
