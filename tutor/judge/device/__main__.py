"""`python -m tutor.judge.device`: one `DeviceJob` and its arrays come as frames on stdin, `DeviceAnswer` frames go to
stdout, the last of them `Timed`, `Unopened` or `Broken`; then it exits.

It runs artifacts, and no Python of a learner or of a set. It starts from the user's own environment, since that is how
the TPU runtime of the machine is set up; the front sets what is about the device."""

from __future__ import annotations

import os
import traceback

import msgspec

from tutor.wire import Broken, DeviceAnswer, DeviceJob
from tutor.workers.confine import die_with_parent
from tutor.workers.frames import read_frame, write_frame


def main() -> None:
    """Do the one job, and keep the device for no longer than the front lives."""
    die_with_parent(os.getppid())
    jobs, answers = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what the TPU runtime prints must not mix with the answers

    def send(answer: DeviceAnswer) -> None:
        write_frame(answers, msgspec.msgpack.encode(answer))

    job = msgspec.msgpack.decode(read_frame(jobs), type=DeviceJob)
    sets = [read_frame(jobs) for _ in range(job.sets)]
    expected = read_frame(jobs)
    try:
        from tutor.judge.device.runner import time_beside_reference

        send(time_beside_reference(job, sets, expected, send))
    except Exception as error:
        send(Broken(message=f"{type(error).__name__}: {error}", traceback=traceback.format_exc()))


if __name__ == "__main__":
    main()
