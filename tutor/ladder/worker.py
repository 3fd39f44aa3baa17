"""A worker server seen from the front: started by command, restarted when it dies, one answer stream a run."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from itertools import count

import msgspec

from tutor.ladder.isolation import Isolation
from tutor.ladder.process import end, start
from tutor.wire import Body, Cancel, Ended, Hello, Job, Piece, Reply, Start
from tutor.workers.frames import HEADER, BadFrame, FrameBuffer, frame

STDERR_TAIL = 4000


class WorkerDied(Exception):
    """The server ended while a run was under way; `tail` is the last of what it wrote to stderr."""

    def __init__(self, module: str, tail: str) -> None:
        super().__init__(f"{module} ended unexpectedly")
        self.module = module
        self.tail = tail


class BadAnswer(Exception):
    """A child of a server of `module` sent bytes that are no record of ours."""

    def __init__(self, module: str, message: str) -> None:
        super().__init__(message)
        self.module = module


class _Answers:
    """What has come of one run: whole frames, then `Ended`; None if the server is gone."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[bytes | BadFrame | Ended | None] = asyncio.Queue()
        self._frames = FrameBuffer()

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the run. After a frame that is none, nothing more of it can be read."""
        try:
            for body in self._frames.feed(data):
                self.queue.put_nowait(body)
        except BadFrame as error:
            self.queue.put_nowait(error)


class Worker:
    """One server process: `python -I -m MODULE` in a clean environment, unless other ones are given.

    Safe to use from many tasks of one event loop."""

    def __init__(
        self, module: str, command: Sequence[str] | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self.module = module
        self._command = command or (sys.executable, "-I", "-m", module)
        self._environment = environment
        self.hello: Hello | None = None
        self.isolation: Isolation | None = None  # what its jail has proved; None without a jail
        self._process: asyncio.subprocess.Process | None = None
        self._starting = asyncio.Lock()
        self._ids = count(1)
        self._runs: dict[int, _Answers] = {}
        self._readers: list[asyncio.Task[None]] = []
        self._tail = bytearray()
        self._decode_reply = msgspec.msgpack.Decoder(Reply).decode
        self._decode_body = msgspec.msgpack.Decoder(Body).decode

    async def start(self) -> Hello:
        """Start the server unless it runs, and wait until it is ready. `WorkerDied` if it never gets there."""
        async with self._starting:
            if self.hello is not None:
                return self.hello
            self.hello = await self._open()
            return self.hello

    async def _open(self) -> Hello:
        """Start a server in whatever way this worker does it. `WorkerDied` if it never gets ready."""
        return await self._launch(self._command)

    async def _launch(self, command: Sequence[str]) -> Hello:
        await self._close()
        environment = clean_environment() if self._environment is None else self._environment
        self._process = await start(*command, env=environment, cwd="/")
        self._tail.clear()
        self._readers = [asyncio.create_task(self._read_stderr(self._process))]
        first = await self._next_reply(self._process)
        if not isinstance(first, Hello):
            await asyncio.wait(self._readers, timeout=1)
            raise WorkerDied(self.module, self._tail_text())
        self._readers.append(asyncio.create_task(self._read_replies(self._process)))
        return first

    async def run(self, job: Job) -> AsyncIterator[Body | Ended]:
        """Run one job in a fork; yields its answers, and `Ended` last. Leaving early cancels the run.

        `WorkerDied` if the server ends meanwhile, `BadAnswer` if the child sends something that is not ours."""
        await self.start()
        async with contextlib.aclosing(self._answers(job)) as answers:
            async for answer in answers:
                yield answer

    async def _answers(self, job: Job) -> AsyncGenerator[Body | Ended]:
        number = next(self._ids)
        answers = self._runs[number] = _Answers()
        ended = False
        try:
            data = msgspec.msgpack.encode(job)
            await self._send(Start(id=number, size=len(data), limits=job.limits), data)
            while not ended:
                reply = await answers.queue.get()
                if reply is None:
                    ended = True
                    raise WorkerDied(self.module, self._tail_text())
                if isinstance(reply, Ended):
                    ended = True
                    yield reply
                else:
                    yield self._body(reply)
        finally:
            del self._runs[number]
            if not ended:
                with contextlib.suppress(WorkerDied):
                    await self._send(Cancel(id=number))

    def kill(self) -> None:
        """Kill the server at once, with what it does. The next run starts a new one."""
        self.hello = None
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def aclose(self) -> None:
        """End the server and everything it runs."""
        async with self._starting:
            await self._close()

    async def _close(self) -> None:
        process, self._process, self.hello = self._process, None, None
        for reader in self._readers:
            reader.cancel()
        await asyncio.gather(*self._readers, return_exceptions=True)
        self._readers = []
        if process is None:
            return
        if process.stdin:
            process.stdin.close()
        await end(process, grace=2)

    def _body(self, body: bytes | BadFrame) -> Body:
        try:
            if isinstance(body, BadFrame):
                raise body
            return self._decode_body(body)
        except (msgspec.MsgspecError, BadFrame) as error:
            raise BadAnswer(self.module, str(error)) from None

    async def _send(self, request: Start | Cancel, data: bytes = b"") -> None:
        process = self._process
        if process is None or process.stdin is None:
            raise WorkerDied(self.module, self._tail_text())
        try:
            process.stdin.write(frame(msgspec.msgpack.encode(request)) + data)
            await process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            raise WorkerDied(self.module, self._tail_text()) from None

    async def _next_reply(self, process: asyncio.subprocess.Process) -> Reply | None:
        assert process.stdout is not None
        try:
            size = int.from_bytes(await process.stdout.readexactly(HEADER), "big")
            return self._decode_reply(await process.stdout.readexactly(size))
        except (asyncio.IncompleteReadError, ConnectionResetError, msgspec.MsgspecError):
            return None

    async def _read_replies(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while (reply := await self._next_reply(process)) is not None:
            answers = self._runs.get(reply.id) if isinstance(reply, Piece | Ended) else None
            if isinstance(reply, Piece):
                try:
                    data = await process.stdout.readexactly(reply.size)
                except (asyncio.IncompleteReadError, ConnectionResetError):
                    break
                if answers is not None:
                    answers.feed(data)
            elif isinstance(reply, Ended) and answers is not None:
                answers.queue.put_nowait(reply)
        self.hello = None
        for answers in self._runs.values():
            answers.queue.put_nowait(None)

    async def _read_stderr(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        while data := await process.stderr.read(4096):
            self._tail += data
            del self._tail[:-STDERR_TAIL]

    def _tail_text(self) -> str:
        return self._tail.decode("utf-8", "replace").strip()


def clean_environment() -> dict[str, str]:
    """What a worker may know of the user's environment: where programs are, and the language of messages."""
    keep = ("PATH", "LANG", "LC_ALL", "TZ", "SYSTEMROOT")
    clean = {name: os.environ[name] for name in keep if name in os.environ}
    clean["HOME"] = clean["TMPDIR"] = tempfile.gettempdir()
    return clean
