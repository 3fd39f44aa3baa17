"""The compile server seen from the front: one compile at a time, what is known is not compiled again, and a compiler
that hangs or dies is started anew."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict

import msgspec

from tutor.findings import finding
from tutor.ladder.libtpu import libtpu_command
from tutor.ladder.worker import Worker, WorkerDied
from tutor.protocol import Compilation, Finding
from tutor.wire import Broken, Compiled, CompileJob, Hello

WALL_SECONDS = 20.0
TRIES = 2
REMEMBERED = 256
GRACE_SECONDS = 1.5
"""A compile that nobody waits for any more may go on for so long in all; then its server is killed."""


class Compiler:
    """One compile server. What it found is remembered by artifact, chip, facts and version of libtpu."""

    def __init__(self, worker: Worker | None = None, *, wall_seconds: float = WALL_SECONDS) -> None:
        self.worker = worker or Worker("tutor.judge.compile")
        self._wall_seconds = wall_seconds
        self._one = asyncio.Lock()
        self._known: OrderedDict[bytes, Compiled] = OrderedDict()
        self._starting: asyncio.Task[object] | None = None
        self.programs: dict[bytes, object] = {}  # what callers want to keep as long as this server

    async def start(self) -> Hello:
        """Start the server unless it runs. `WorkerDied` if libtpu cannot be loaded."""
        return await self.worker.start()

    def start_soon(self) -> None:
        """Start the server in the background. What goes wrong is said when it is needed."""
        if self.worker.hello is None and (self._starting is None or self._starting.done()):
            self._starting = asyncio.create_task(_quietly(self.worker))

    async def compile(self, job: CompileJob) -> Compiled | Broken:
        """Compile one case for one chip. A crash (KT608) or a hang (KT609) is tried once more and then a finding."""
        hello = await self.start()
        key = hashlib.sha256(msgspec.msgpack.encode((job, hello.versions.get("libtpu")))).digest()
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        async with self._one:
            answer = await self._insist(job)
        if isinstance(answer, Compiled) and not any(f.code in ("KT608", "KT609") for f in answer.findings):
            self._known[key] = answer
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return answer

    async def _insist(self, job: CompileJob) -> Compiled | Broken:
        trouble: Finding | None = None
        for _ in range(TRIES):
            began = time.monotonic()
            try:
                async with asyncio.timeout(self._wall_seconds):
                    answer = await self._ask(job)
            except TimeoutError:
                self.worker.kill()
                trouble = self._hung(job)
            except WorkerDied as died:
                trouble = _crashed(job, died)
            except asyncio.CancelledError:
                if time.monotonic() - began > GRACE_SECONDS:
                    self.worker.kill()
                raise
            else:
                if trouble is not None and isinstance(answer, Compiled):
                    note = msgspec.structs.replace(
                        trouble, severity="note", message=f"{trouble.message} The second time it went well.", hint=None
                    )
                    return msgspec.structs.replace(answer, findings=[*answer.findings, note])
                return answer
        assert trouble is not None
        return Compiled(Compilation(job.chip, job.case, "failed"), [trouble], 0.0)

    async def _ask(self, job: CompileJob) -> Compiled | Broken:
        found: Compiled | Broken | None = None
        async for answer in self.worker.run(job):
            if isinstance(answer, Compiled | Broken):
                found = answer
        return found or Broken("The compile server gave no answer.", "")

    def _hung(self, job: CompileJob) -> Finding:
        message = (
            f"On {job.chip}: the TPU compiler had not come to an end after {self._wall_seconds:.0f} seconds in case "
            f"{job.case}. It was stopped and started anew."
        )
        hint = (
            "Large blocks are unrolled into one instruction for every 8 x 128 elements of every operation: make the "
            "blocks smaller, or work on parts of a block in a `jax.lax.fori_loop`."
        )
        return finding("KT609", message, case=job.case, hint=hint)

    async def aclose(self) -> None:
        """End the server."""
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        await self.worker.aclose()


class NoCompiler(Exception):
    """The TPU compiler is not there; `hint` says how it is added."""

    def __init__(self, hint: str) -> None:
        super().__init__("This needs the TPU compiler, libtpu.")
        self.hint = hint


async def need_libtpu(compiler: Compiler) -> None:
    """`NoCompiler` if libtpu is not installed or cannot be loaded."""
    try:
        hello = await compiler.start()
    except WorkerDied:
        hello = None
    if hello is None or hello.versions.get("libtpu") is None:
        raise NoCompiler(f"This adds it: {libtpu_command()}")


def _crashed(job: CompileJob, died: WorkerDied) -> Finding:
    message = (
        f"On {job.chip}: the process of the TPU compiler ended while it compiled case {job.case}. The tutor has "
        "started it anew."
    )
    hint = "Change one thing at a time until it compiles: block sizes, dtypes, the last operation that you added."
    return finding("KT608", message, case=job.case, raw=died.tail or None, hint=hint)


async def _quietly(worker: Worker) -> None:
    try:
        await worker.start()
    except WorkerDied:
        pass
