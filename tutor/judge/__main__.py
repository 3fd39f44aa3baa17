"""The judge server: `python -I -m tutor.judge`. The same warm fork server as the stage's, for trusted work."""

from __future__ import annotations

import os

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import warnings

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
