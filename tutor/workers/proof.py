"""The proof of a jail: a run like any other tries what a jail must deny, and tells what came of each."""

from __future__ import annotations

import ctypes
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from tutor.wire import Denial, ProofJob
from tutor.workers.kernel import system_call

_PTRACE, _PTRACE_SEIZE = 101, 0x4206

type Attempt = Callable[[], object]

LAST = "start a program"
"""What is tried last: who has an answer to this has an answer to all."""


def prove(job: ProofJob, send: Callable[[Denial], None]) -> None:
    """Do what every run may, then try everything that none may. Starting a program comes last, since what succeeds
    there never comes back: without its denial it was not denied."""
    _what_a_run_may()
    for what, attempt in _attempts(job):
        send(_tried(what, attempt))
    send(_tried(LAST, lambda: os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", ""])))


def _attempts(job: ProofJob) -> Iterator[tuple[str, Attempt]]:
    server = os.getppid()
    yield "read a file outside", lambda: Path(job.marker).read_bytes()
    yield "read the user's home", lambda: _list(job.home)
    yield "read the system's files", lambda: Path("/etc/passwd").read_bytes()
    yield "write outside the run's own folder", lambda: _write(job)
    yield "see the folders of other runs", lambda: _list(Path.cwd().parent)
    yield "see other processes", lambda: _first((lambda: _list("/proc"), lambda: _command_of(server)))
    yield "read another process", lambda: _first((lambda: _memory_of(server), lambda: _seize(server)))
    yield "open a TCP connection", lambda: socket.create_connection(("127.0.0.1", job.tcp), timeout=1).close()
    yield "send over UDP", lambda: _datagram(job.udp)
    yield "reach a UNIX socket", lambda: _first((lambda: _reach(job.unix), lambda: _reach("\0" + job.abstract)))
    yield "signal the server", lambda: os.kill(server, 0)
    yield "signal the tutor", lambda: os.kill(job.front, 0)
    yield "start a process", _fork


def _tried(what: str, attempt: Attempt) -> Denial:
    try:
        attempt()
    except OSError as error:
        return Denial(what, True, error.strerror or str(error))
    return Denial(what, False, "nothing stopped it")


def _first(attempts: tuple[Attempt, ...]) -> None:
    """Succeeds if one of them does; `OSError` if all are refused."""
    refused: OSError | None = None
    for attempt in attempts:
        try:
            attempt()
            return
        except OSError as error:
            refused = error
    assert refused is not None
    raise refused


def _what_a_run_may() -> None:
    """A jail in which nothing works proves nothing: a run writes in its own folder and starts threads."""
    own = Path("proof")
    own.write_text("written")
    thread = threading.Thread(target=own.unlink)
    thread.start()
    thread.join()
    assert not own.exists()


def _list(folder: str | Path) -> list[Path]:
    return list(Path(folder).iterdir())


def _write(job: ProofJob) -> None:
    places = (job.folder, str(Path.cwd().parent), job.home, "/", "/dev/shm", str(Path(__file__).parent))
    _first(tuple(_creating(f"{place}/kerneltutor-proof-{os.getpid()}") for place in places))


def _creating(path: str) -> Attempt:
    def create() -> None:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        os.unlink(path)  # noqa: PTH108

    return create


def _command_of(process: int) -> None:
    if not Path(f"/proc/{process}/cmdline").read_bytes():
        raise PermissionError(1, "its command is not shown")


def _memory_of(process: int) -> None:
    os.close(os.open(f"/proc/{process}/mem", os.O_RDONLY))


def _seize(process: int) -> None:
    system_call(_PTRACE, ctypes.c_long(_PTRACE_SEIZE), ctypes.c_long(process), None, None)


def _datagram(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"out", ("127.0.0.1", port))


def _reach(address: str) -> None:
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(address)


def _fork() -> None:
    process = os.fork()
    if process == 0:
        os._exit(0)
    os.waitpid(process, 0)
