"""The judge server: `python -I -m tutor.judge`. The same warm fork server as the stage's, for trusted work."""

from __future__ import annotations

import warnings

from tutor.workers import environment

environment.prepare()  # before JAX is imported

from tutor.jaxpr import compat
from tutor.judge import jobs
from tutor.wire import Hello
from tutor.workers.forkserver import serve


def main() -> None:
    """Serve until stdin ends."""
    warnings.filterwarnings("ignore", message=r"os\.fork\(\) was called")
    compat.preload()
    serve(jobs.run, Hello(versions=compat.versions()))


if __name__ == "__main__":
    main()
