"""The stage server: `python -I -m tutor.stage`. It imports JAX once, starts no backend, and forks for every run."""

from __future__ import annotations

import sys
import warnings

from tutor.workers import environment

environment.prepare()  # before JAX is imported

from tutor.jaxpr import compat
from tutor.stage import jobs
from tutor.wire import Hello
from tutor.workers.forkserver import serve
from tutor.workers.jail import jail_named


def main() -> None:
    """Serve until stdin ends."""
    warnings.filterwarnings("ignore", message=r"os\.fork\(\) was called")
    compat.preload()
    jobs.warm()
    serve(jobs.run, Hello(versions=compat.versions()), jail_named(sys.argv))


if __name__ == "__main__":
    main()
