"""`python -m tutor.judge.device`: one `DeviceJob` frame on stdin, one `Timed` or `Broken` frame on stdout, then exit.

It runs artifacts, never learner Python. It starts from the user's own environment, since that is how the TPU runtime
of the machine is set up; the front sets `JAX_PLATFORMS`."""

from __future__ import annotations

import os
import sys
import traceback

import msgspec

from tutor.wire import Broken, DeviceJob, Timed
from tutor.workers.frames import HEADER, write_frame


def main() -> None:
    """Do the one job."""
    answers = os.dup(1)
    os.dup2(2, 1)  # what the TPU runtime prints must not mix with the answer
    size = int.from_bytes(sys.stdin.buffer.read(HEADER), "big")
    job = msgspec.msgpack.decode(sys.stdin.buffer.read(size), type=DeviceJob)
    answer: Timed | Broken
    try:
        from tutor.judge.device.runner import time_beside_reference

        answer = time_beside_reference(job)
    except Exception as error:
        answer = Broken(message=f"{type(error).__name__}: {error}", traceback=traceback.format_exc())
    write_frame(answers, msgspec.msgpack.encode(answer))


if __name__ == "__main__":
    main()
