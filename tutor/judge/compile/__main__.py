"""The compile server: `python -I -m tutor.judge.compile`.

It speaks the frames of `tutor.wire` like the fork servers, but libtpu has threads and cannot be forked, so it is one
process that does its jobs one after the other. What hangs or kills it is the front's to notice: it starts it anew."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

import msgspec

from tutor.wire import (
    Began,
    Body,
    Broken,
    Cancel,
    Compiled,
    CompileJob,
    Ended,
    Hello,
    Job,
    Piece,
    ProofJob,
    Reply,
    Request,
)
from tutor.workers.confine import die_with_parent, lock
from tutor.workers.frames import frame, read_exactly, read_frame, write_all, write_frame
from tutor.workers.jail import Jail, jail_named
from tutor.workers.proof import prove


def main() -> None:
    """Serve until stdin ends."""
    parent = os.getppid()
    die_with_parent(parent)
    requests, answers = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)  # what libtpu prints must not mix with the answers
    folder = Path(tempfile.mkdtemp(prefix="kerneltutor-compile-"))
    jail = jail_named(sys.argv)
    try:
        os.chdir(folder)
        lock(jail, folder)  # before there is any other thread, since it holds for those that come after
        _serve(requests, answers, folder, jail)
    except (EOFError, BrokenPipeError):
        pass
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        sys.stdout.flush()
        os._exit(0)  # libtpu's threads are not waited for


def _serve(requests: int, answers: int, folder: Path, jail: Jail) -> None:
    def say(reply: Reply) -> None:
        write_frame(answers, msgspec.msgpack.encode(reply))

    versions = _load(folder)
    say(Hello(versions=versions, isolation=jail.tier))
    decode, decode_job = msgspec.msgpack.Decoder(Request).decode, msgspec.msgpack.Decoder(Job).decode
    while True:
        request = decode(read_frame(requests))
        if isinstance(request, Cancel):
            continue  # a compile cannot be stopped half-way; the front does not read its answer any more
        job = decode_job(read_exactly(requests, request.size))
        say(Began(id=request.id, group=os.getpid()))
        began = time.monotonic()

        def send(body: Body, number: int = request.id) -> None:
            data = frame(msgspec.msgpack.encode(body))
            say(Piece(id=number, size=len(data)))
            write_all(answers, data)

        if isinstance(job, ProofJob) and jail.tier != "C":  # a program that is started would take its place
            prove(job, send)
        else:
            send(_do(job, folder, versions["libtpu"]))
        say(Ended(id=request.id, how="done", seconds=time.monotonic() - began))


def _load(folder: Path) -> dict[str, str | None]:
    """Load libtpu with the dump switched on, unless it is not installed. The versions of what there is."""
    from tutor.judge.compile.settings import environment

    os.environ.update(environment(folder))
    from tutor.jaxpr import compat

    versions = compat.versions()
    if versions["libtpu"] is not None:
        compat.preload()
        from tutor.judge.compile.compiler import warm

        warm()
    return versions


def _do(job: Job, folder: Path, libtpu: str | None) -> Body:
    try:
        if not isinstance(job, CompileJob) or libtpu is None:
            raise TypeError(f"the compile server cannot do {type(job).__name__}")
        from tutor.judge.compile.compiler import compile_case

        answer: Compiled = compile_case(job, folder, libtpu)
        return answer
    except Exception as error:
        return Broken(message=f"{type(error).__name__}: {error}", traceback=traceback.format_exc())
    finally:
        for left in folder.iterdir():
            left.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
