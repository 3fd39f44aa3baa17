"""A warm server that runs every job in a fork of its own.

The server imports what its jobs need once and never runs a job itself, so it stays clean: it starts no JAX backend
and no threads. It reads `Start` and `Cancel` from stdin, and writes `Hello`, then `Began`, `Piece` and `Ended` to
stdout. Each child has its own session, limits and temporary home; what it prints is collected as text.

Every child is a copy of the server's memory, so the server holds nothing of one run that another must not see: a child
reads its job itself, and the kernel moves its answers to the front.
"""

from __future__ import annotations

import array
import contextlib
import faulthandler
import fcntl
import gc
import os
import selectors
import signal
import socket
import sys
import tempfile
import termios
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import msgspec

from tutor.protocol import Limits
from tutor.wire import Began, Body, Broken, Cancel, Ended, Hello, How, Job, Piece, ProofJob, Reply, Request, Start
from tutor.workers import confine
from tutor.workers.frames import read_exactly, read_frame, write_all, write_frame
from tutor.workers.home import remove
from tutor.workers.jail import Jail
from tutor.workers.proof import prove

Send = Callable[[Body], None]
Handler = Callable[[Job, Send], None]

WATCH_SECONDS = 0.1
PATIENCE = 4
"""So many times its wall limit a run may take on a machine that keeps it waiting for a core."""
LAST_WORDS_SECONDS = 0.3
LAST_WORDS_SIGNAL = signal.SIGUSR1
"""On this a run says on stderr where it is, and so long it has for that, when its time is over. (By a signal, since
Python's own alarm reads the frames of other threads while they run, which has ended runs that were at work.)"""
FILES, FILES_BYTES = 100, 64 << 20
"""What a run leaves behind and is removed at once."""
LIMIT_EXIT = 77
_leave = os._exit
"""As it was before any attempt could replace it: a run that never leaves would take its whole time."""
MEMORY_EXIT = 78
READ_SIZE = 1 << 20
SPLICE = hasattr(os, "splice")
"""Moving from pipe to pipe inside the kernel; elsewhere than on Linux bytes pass through the server."""


@dataclass
class Run:
    """One child: its pipes, its limits, and what has come from it so far."""

    id: int
    pid: int
    limits: Limits
    home: Path
    replies: int
    output: int
    began: float
    received: int = 0
    printed: bytearray = field(default_factory=bytearray)
    how: How | None = None
    asked: float | None = None
    """When it was asked for its last words."""
    middle: tuple[float, float] = (0.0, 0.0)
    """When half of its time was over, and what `_worked` was then."""
    busy: float = 0.0


def serve(handler: Handler, hello: Hello, jail: Jail | None = None) -> None:
    """Serve until stdin ends. Call it once, after everything that the jobs need has been imported.

    `jail`: how every run confines itself; without one it is tier C."""
    jail = jail or Jail()
    Server(handler, jail).run(msgspec.structs.replace(hello, isolation=jail.tier))


class Server:
    """The loop of a fork server."""

    def __init__(self, handler: Handler, jail: Jail) -> None:
        self._handler = handler
        self._jail = jail
        self._requests = os.dup(0)
        self._answers = os.dup(1)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        self._selector = selectors.DefaultSelector()
        self._runs: dict[int, Run] = {}
        self._decode = msgspec.msgpack.Decoder(Request).decode
        self._looked = 0.0
        self._sweepers: set[int] = set()

    def run(self, hello: Hello) -> None:
        confine.become_subreaper()
        wake_read, wake_write = socket.socketpair()
        wake_read.setblocking(False)
        wake_write.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(wake_write.fileno(), warn_on_full_buffer=False)
        self._selector.register(self._requests, selectors.EVENT_READ, self._read_requests)
        self._selector.register(wake_read, selectors.EVENT_READ, lambda: wake_read.recv(4096))
        gc.collect()
        gc.freeze()  # forks then share the imported modules instead of copying them at the first collection
        self._say(hello)
        try:
            while True:
                for key, _ in self._selector.select(self._patience()):
                    key.data()
                self._enforce()
                self._reap()
        except EOFError:
            pass
        finally:
            for run in list(self._runs.values()):
                self._kill(run)
                self._finish(run)

    def _patience(self) -> float | None:
        return WATCH_SECONDS if self._runs else None

    def _say(self, reply: Reply) -> None:
        try:
            write_frame(self._answers, msgspec.msgpack.encode(reply))
        except BrokenPipeError:
            raise EOFError from None

    def _read_requests(self) -> None:
        request = self._decode(read_frame(self._requests))
        if isinstance(request, Start):
            self._start(request)
        elif isinstance(request, Cancel) and request.id in self._runs:
            run = self._runs[request.id]
            run.how = run.how or "cancelled"
            self._kill(run)

    # ------------------------------------------------------------ one run

    def _start(self, start: Start) -> None:
        home = Path(tempfile.mkdtemp(prefix="kerneltutor-"))
        reply_read, reply_write = os.pipe()
        output_read, output_write = os.pipe()
        taken_read, taken_write = os.pipe()
        server = os.getpid()
        pid = os.fork()
        if pid == 0:
            job = self._take(start.size, taken_write)
            _child(self._handler, job, self._jail, home, server, reply_write, output_write)
        for descriptor in (reply_write, output_write, taken_write):
            os.close(descriptor)
        with os.fdopen(taken_read, "rb") as taken:
            if not taken.read(1):
                raise EOFError  # nobody knows how much of its job the child has read
        run = Run(start.id, pid, start.limits, home, reply_read, output_read, time.monotonic())
        self._runs[start.id] = run
        os.set_blocking(output_read, False)
        for descriptor, read in ((reply_read, self._pass_on), (output_read, self._read_output)):
            self._selector.register(descriptor, selectors.EVENT_READ, lambda read=read, run=run: read(run))
        self._say(Began(id=start.id, group=pid))

    def _take(self, size: int, taken: int) -> bytes:
        """In the child: the bytes of its job. The server waits for so long."""
        try:
            data = read_exactly(self._requests, size)
            os.write(taken, b"1")
        except (OSError, EOFError):
            os._exit(LIMIT_EXIT)
        return data

    def _pass_on(self, run: Run) -> bool:
        """Hand on what a run has answered, without looking at it; False when nothing more will come now."""
        waiting = array.array("i", [0])
        fcntl.ioctl(run.replies, termios.FIONREAD, waiting)
        size = min(waiting[0], READ_SIZE)
        if not size:  # it is readable, so this is its end
            self._forget(run.replies)
            return False
        run.received += size
        if run.received > run.limits.reply_bytes:
            os.read(run.replies, size)
            run.how = run.how or "reply"
            self._kill(run)
        else:
            self._say(Piece(id=run.id, size=size))
            self._move(run.replies, size)
        return True

    def _move(self, source: int, size: int) -> None:
        try:
            while size:
                size -= os.splice(source, self._answers, size) if SPLICE else self._copy(source, size)
        except BrokenPipeError:
            raise EOFError from None

    def _copy(self, source: int, size: int) -> int:
        data = os.read(source, size)
        write_all(self._answers, data)
        return len(data)

    def _read_output(self, run: Run) -> bool:
        data = self._read(run.output)
        room = run.limits.output_bytes - len(run.printed)
        run.printed += data[: max(room, 0)]
        return bool(data)

    def _read(self, descriptor: int) -> bytes:
        try:
            data = os.read(descriptor, READ_SIZE)
        except BlockingIOError:
            return b""
        if not data:
            self._forget(descriptor)
        return data

    def _forget(self, descriptor: int) -> None:
        with contextlib.suppress(KeyError):
            self._selector.unregister(descriptor)

    def _enforce(self) -> None:
        now = time.monotonic()
        look = now - self._looked >= WATCH_SECONDS
        if look:
            self._looked = now
        for run in self._runs.values():
            if run.how is None and is_over(run.limits, run.pid, now - run.began):
                if run.asked is None:
                    run.asked, run.busy = now, (_worked(run) - run.middle[1]) / (now - run.middle[0])
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(run.pid, LAST_WORDS_SIGNAL)
                if now - run.asked < LAST_WORDS_SECONDS:
                    continue
                run.how = "wall"
            elif run.how is None and look:
                run.how = _uses_too_much(run)
                if now - run.began < run.limits.wall_seconds / 2:
                    run.middle = now, _worked(run)
            else:
                continue
            if run.how is not None:
                self._kill(run)

    def _reap(self) -> None:
        for run in list(self._runs.values()):
            pid, status = os.waitpid(run.pid, os.WNOHANG)
            if pid:
                _kill_group(run.pid)  # what the child left behind
                self._finish(run, status)
        self._kill_strays()

    def _finish(self, run: Run, status: int | None = None) -> None:
        if status is None:
            with contextlib.suppress(ChildProcessError):
                _, status = os.waitpid(run.pid, 0)
        while self._pass_on(run):
            pass
        while self._read_output(run):
            pass
        for descriptor in (run.replies, run.output):
            self._forget(descriptor)
            os.close(descriptor)
        self._remove(run.home)
        del self._runs[run.id]
        how, detail = _how_it_ended(run, status or 0)
        printed = run.printed.decode("utf-8", "backslashreplace")
        with contextlib.suppress(EOFError):
            self._say(Ended(run.id, how, detail, printed, time.monotonic() - run.began, run.busy))

    def _remove(self, home: Path) -> None:
        """Remove a run's home. Where that takes long, a child does it, so that no other run has to wait."""
        if not confine.fills_the_disk(home, FILES_BYTES, FILES):
            _remove_home(home)
            return
        pid = os.fork()
        if pid == 0:
            confine.close_others(set())  # the front must see it at once should the server end
            _remove_home(home)
            os._exit(0)
        self._sweepers.add(pid)

    def _kill(self, run: Run) -> None:
        _kill_group(run.pid)
        with contextlib.suppress(ProcessLookupError):
            os.kill(run.pid, signal.SIGKILL)

    def _kill_strays(self) -> None:
        """Kill and collect orphans that left their process group; they were handed to this subreaper."""
        known = {run.pid for run in self._runs.values()}
        for pid in list(self._sweepers):
            if os.waitpid(pid, os.WNOHANG)[0]:
                self._sweepers.remove(pid)
        for pid in confine.children_of(os.getpid()):
            if pid not in known | self._sweepers:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)


def _worked(run: Run) -> float:
    """Seconds that a run's threads, all together, have been on a core or in the queue for one."""
    return sum(turn.worked + turn.queued for turn in confine.turns(run.pid))


def is_over(limits: Limits, pid: int, seconds: float) -> bool:
    """Whether a run has had its wall time. What it spent in the queue for a core does not count, up to a bound."""
    allowed = limits.wall_seconds
    if seconds <= allowed:
        return False
    return (
        seconds > PATIENCE * allowed
        or seconds - max((turn.queued for turn in confine.turns(pid)), default=0.0) > allowed
    )


def _remove_home(home: Path) -> None:
    with contextlib.suppress(OSError):
        remove(home)


def _uses_too_much(run: Run) -> How | None:
    """What a run uses more of than it may. The kernel has no limit for these that holds for one run."""
    if confine.resident_bytes(run.pid) > (run.limits.data_bytes or confine.default_data_bytes()):
        return "memory"
    if confine.threads_of(run.pid) > (run.limits.threads or confine.default_threads()):
        return "threads"
    return "disk" if confine.fills_the_disk(run.home, run.limits.disk_bytes) else None


def _kill_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _child(handler: Handler, data: bytes, jail: Jail, home: Path, server: int, replies: int, output: int) -> NoReturn:
    """Everything a forked child does. It leaves by `os._exit`, so nothing of the server runs twice."""
    code = 0
    try:
        job = msgspec.msgpack.decode(data, type=Job)
        limits = job.limits
        faulthandler.register(LAST_WORDS_SIGNAL, all_threads=False)
        confine.confine(limits, jail, home, server, {replies}, output)

        def send(body: Body) -> None:
            write_frame(replies, msgspec.msgpack.encode(body))

        try:
            if isinstance(job, ProofJob):
                prove(job, send)
            else:
                handler(job, send)
        except MemoryError:
            code = MEMORY_EXIT
        except Exception as error:
            send(Broken(message=f"{type(error).__name__}: {error}", traceback=traceback.format_exc()))
    except BaseException:
        code = LIMIT_EXIT
        with contextlib.suppress(Exception):
            traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        _leave(code)


def _how_it_ended(run: Run, status: int) -> tuple[How, str]:
    if run.how is not None:
        return run.how, ""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number == signal.SIGXCPU:
            return "cpu", ""
        return "signal", signal.Signals(number).name
    code = os.WEXITSTATUS(status)
    if code == MEMORY_EXIT:
        return "memory", ""
    return ("done", "") if code == 0 else ("exit", str(code))
