"""How long the program takes to answer, beside a bare `import jax`.

    uv run python benchmarks/startup.py [--runs N]

`list` is the wall time of `kerneltutor list`. `first paint` is the time from the start of `kerneltutor`, in a pty of
120x40, to its first text on the alternate screen. Every figure is a median.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Mapping

PROGRAM = (sys.executable, "-m", "tutor")
FULL_SCREEN = b"\x1b[?1049h"
NAME = b"kerneltutor"


def seconds_of(*command: str, environment: Mapping[str, str]) -> float:
    """Wall time of a command that must succeed."""
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return time.perf_counter() - began


def first_paint(environment: Mapping[str, str]) -> float:
    """Seconds until the program's name stands on the alternate screen."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    began = time.perf_counter()
    process = subprocess.Popen(
        PROGRAM,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**environment, "TERM": "xterm-256color"},
        start_new_session=True,
    )
    os.close(theirs)
    seen = b""
    try:
        while NAME not in seen.partition(FULL_SCREEN)[2]:
            seen += os.read(ours, 1 << 16)
        return time.perf_counter() - began
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(ours)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7, help="how many runs each median is of")
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as home:
        private = dict.fromkeys(("HOME", "KERNELTUTOR_WORKSPACE", "KERNELTUTOR_DATA"), home)
        environment = {**os.environ, **private}

        def median(measure: Callable[[], float]) -> float:
            measure()  # once to write bytecode and fill the disk cache
            return statistics.median(measure() for _ in range(runs))

        bare = median(lambda: seconds_of(sys.executable, "-c", "pass", environment=environment))
        jax = median(lambda: seconds_of(sys.executable, "-c", "import jax", environment=environment))
        listed = median(lambda: seconds_of(*PROGRAM, "list", environment=environment))
        painted = median(lambda: first_paint(environment))
    print("what               median    import jax / it   target")
    for name, seconds, target in (
        ("python -c pass", bare, ""),
        ("import jax", jax, ""),
        ("kerneltutor list", listed, "0.3 s"),
        ("first paint", painted, "0.6 s"),
    ):
        print(f"{name:18} {seconds:.3f} s {jax / seconds:10.1f}x        {target}".rstrip())


if __name__ == "__main__":
    main()
