"""The worker runs of one check: what is asked, how long it may take, and what comes back."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator
from typing import Literal

import msgspec

from tutor.findings import finding
from tutor.ladder.claims import Claims
from tutor.ladder.compiler import Compiler
from tutor.ladder.subject import Subject
from tutor.ladder.worker import BadAnswer, Worker
from tutor.protocol import CaseSpec, Figures, Finding, Limits
from tutor.wire import Artifact, ArtifactJob, Body, Broken, Ended, Inputs, InputsJob, Job, ScanJob, Scanned

TRACE_LIMITS = Limits(wall_seconds=10, reply_bytes=16 << 20)
RUN_LIMITS = Limits(wall_seconds=20)
HANG_LIMITS = Limits(wall_seconds=6)
"""For a kernel that is known to wait for what never comes, and for one that says itself that it may hang."""


ALL = 1 << 20
"""More slots than there are."""


class Failed(Exception):
    """A trusted job failed: a fault of ours, or of the exercise."""

    def __init__(self, broken: Broken) -> None:
        super().__init__(broken.message)
        self.finding = broken.findings[0] if broken.findings else finding("KT901", broken.message, raw=broken.traceback)


class Runs:
    """The workers, the attempt, and the inputs that were already made for its exercise.

    `slots` are shared by all checks; of these this one holds at most `most` at once, if that is given. `chip` is held
    by whoever times something: two at once would be in each other's way."""

    def __init__(
        self,
        stage: Worker,
        judge: Worker,
        subject: Subject,
        values: dict[tuple[str, str, int], bytes],
        slots: asyncio.Semaphore,
        compiler: Compiler,
        figures: dict[bytes, list[Figures]],
        most: int | None = None,
        chip: asyncio.Lock | None = None,
    ) -> None:
        self.stage = stage
        self.judge = judge
        self.compiler = compiler
        self.subject = subject
        self.printed = ""
        self.simulated: dict[str, bytes] = {}  # by case
        self.figures = figures  # of references, by the job that they came of
        self._values = values
        self._slots = slots
        self.most = most
        self._own = asyncio.Semaphore(most or ALL)
        self.chip = chip or asyncio.Lock()

    def about(self, subject: Subject) -> Runs:
        """The same workers, asked about something else."""
        return Runs(
            self.stage,
            self.judge,
            subject,
            self._values,
            self._slots,
            self.compiler,
            self.figures,
            self.most,
            self.chip,
        )

    async def ask(self, worker: Worker, job: Job, *, at_once: bool = False) -> AsyncIterator[Body | Ended]:
        """The answers of one job, when there is a free slot for it. `at_once`: it waits for none, since it is what the
        learner waits for. `BadAnswer` if it is none to this job: only a forger says such things."""
        async with contextlib.AsyncExitStack() as held:
            if not at_once:
                await held.enter_async_context(self._own)
                await held.enter_async_context(self._slots)
            claims = Claims(job)
            async for answer in worker.run(job):
                forged = claims.missing() if isinstance(answer, Ended) else claims.against(answer)
                if forged and not (isinstance(answer, Ended) and answer.how != "done"):
                    raise BadAnswer(worker.module, forged)
                yield answer

    async def inputs(self, case: CaseSpec, seed: int, *, integers_only: bool = False) -> bytes:
        """`.npz` bytes of a case's inputs, made by the judge; kept for the next check. `Failed` if they cannot be."""
        if self.subject.given is not None:
            return self.subject.integers if integers_only else self.subject.given.inputs
        oracle = self.subject.oracle
        if oracle is None:
            raise Failed(_without_oracle(self.subject))
        written = hashlib.sha256(oracle.source).hexdigest()  # an author who edits the oracle gets new inputs
        key = (f"{oracle.path}@{written}", f"{case.name}/{integers_only}", seed)
        if key not in self._values:
            job = InputsJob(oracle, case, seed, integers_only)
            async for answer in self.ask(self.judge, job):
                if isinstance(answer, Inputs):
                    self._values[key] = answer.data
                elif isinstance(answer, Broken):
                    raise Failed(answer)
            if key not in self._values:
                raise Failed(Broken("The oracle gave no inputs.", ""))
        return self._values[key]

    async def index_values(self) -> dict[str, bytes]:
        """The integer inputs of every case that has some: index maps and loops may read them."""
        return {
            case.name: await self.inputs(case, self.subject.hazard_seed(case), integers_only=True)
            for case in self.subject.cases
            if any(spec.dtype.startswith(("int", "uint")) for spec in case.inputs)
        }

    async def scanned(self, made: Artifact) -> Artifact:
        """An artifact as it may be used: where the judge has something against it, it is a finding without data."""
        if made.data is None:
            return made
        against: list[Finding] | None = None
        job = ScanJob(made.data, made.case, own=self.subject.given is not None)
        async for answer in self.ask(self.judge, job, at_once=True):
            if isinstance(answer, Scanned):
                against = answer.findings
            elif isinstance(answer, Broken):
                raise Failed(answer)
        if against is None:
            message = "What came out of the run could not be read as a program: the attempt to read it ended early."
            against = [finding("KT812", message, case=made.case)]
        return msgspec.structs.replace(made, data=None, mosaic=None, findings=against) if against else made

    def artifacts(self, platform: Literal["cpu", "tpu"]) -> Stream:
        """Start exporting every case in the background."""
        subject = self.subject
        job = ArtifactJob(subject.attempt, subject.cases, [platform], RUN_LIMITS, subject.chips)
        return Stream(self.ask(self.stage, job))


class Stream:
    """Answers of a run that goes on in the background. `close` cancels it; what it raised is raised to its reader."""

    def __init__(self, answers: AsyncIterator[Body | Ended]) -> None:
        self._queue: asyncio.Queue[Body | Ended | Exception] = asyncio.Queue()
        self._programs: dict[str, bytes] = {}
        self._task = asyncio.create_task(self._collect(answers))

    async def _collect(self, answers: AsyncIterator[Body | Ended]) -> None:
        try:
            async for answer in answers:
                if isinstance(answer, Artifact) and answer.data is not None:
                    self._programs[answer.case] = answer.data
                self._queue.put_nowait(answer)
        except Exception as error:
            self._queue.put_nowait(error)

    async def __aiter__(self) -> AsyncIterator[Body | Ended]:
        while True:
            answer = await self._queue.get()
            if isinstance(answer, Exception):
                raise answer
            yield answer
            if isinstance(answer, Ended):
                return

    async def programs(self) -> dict[str, bytes]:
        """All artifacts by case, when the run has ended; whoever reads the stream is told what went wrong."""
        await asyncio.wait([self._task])
        return self._programs

    async def close(self) -> None:
        """Stop the run if it still goes on."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


def _without_oracle(subject: Subject) -> Broken:
    message = f"The exercise {subject.slug} has no oracle.py."
    return Broken(message, "", [finding("KT904", message)])
