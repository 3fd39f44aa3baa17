"""The stage server, with a window: every run first prints what state its server was in when it forked.

A fork inherits the server's memory, so a child can say whether the server had started a backend, and a child's parent
still has the server's threads to count. With the argument `dirty` the server starts a backend, to show that it is seen.
"""

import os
import sys
from pathlib import Path

os.environ["JAX_PLATFORMS"] = "cpu"

from tutor.jaxpr import compat
from tutor.stage import jobs
from tutor.wire import Hello
from tutor.workers.forkserver import serve


def run(job, send):
    threads = len(list(Path(f"/proc/{os.getppid()}/task").iterdir()))
    print(f"backends={compat.backends_started()} threads={threads}", flush=True)
    jobs.run(job, send)


if __name__ == "__main__":
    compat.preload()
    jobs.warm()
    if sys.argv[1:] == ["dirty"]:
        import jax

        jax.devices()
    serve(run, Hello(versions={}))
