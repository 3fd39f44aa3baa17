"""One run of the ladder: the stages side by side where they may be, each result as soon as it is there."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncGenerator, Coroutine, Sequence
from pathlib import Path
from typing import Any

from tutor.findings import finding
from tutor.ladder.bench import bench
from tutor.ladder.chip import chips_here, find_device
from tutor.ladder.compile import compile_stage
from tutor.ladder.compiler import Compiler
from tutor.ladder.device import device_stage
from tutor.ladder.events import CaseFinished, CheckFinished, Event, KernelsTraced, Lowered, StageFinished, StageStarted
from tutor.ladder.hazards import hazards_stage
from tutor.ladder.interpret import interpret_stage
from tutor.ladder.isolation import Isolation, weakest
from tutor.ladder.jailed import JailedWorker, NotIsolated
from tutor.ladder.lower import SharedLowering, lower_stage
from tutor.ladder.measured import measure_here
from tutor.ladder.other_chips import other_chips
from tutor.ladder.predict import Solved, check_answers, solve
from tutor.ladder.runs import Failed, Runs, Stream
from tutor.ladder.structure import OF_THE_TPU_RUN, structure_stage, with_right_numbers
from tutor.ladder.subject import Subject, subject, wanted_stages
from tutor.ladder.sweep_plan import CannotTune, Wanted
from tutor.ladder.tracing import Tracing, trace_stages
from tutor.ladder.tune import tune
from tutor.ladder.verdict import assemble, in_own_words, skip_reason, stage_result
from tutor.ladder.worker import BadAnswer, Worker, WorkerDied
from tutor.protocol import (
    PARENTS,
    PREDICT_STAGES,
    Bench,
    CaseResult,
    Compilation,
    Figures,
    StageName,
    StageResult,
    Sweep,
    Tier,
    Timing,
)
from tutor.sets.exercise import Exercise

STAGE = "tutor.stage"
AVAILABLE: tuple[StageName, ...] = ("load", "trace", "interpret", "structure", "hazards", "lower", "compile", "device")


class Ladder:
    """Judges attempts with warm workers. One check at a time, or many: every check has its own runs.

    `stage` is the worker that runs the attempts' Python, if not the usual one. `isolation`: the tier that every worker
    must prove, else it does not start; without it each takes the best that proves itself here. `shared`: the attempts
    are different people's, so no check may hold all slots: one that hangs in all its runs would stop the others."""

    def __init__(self, stage: Worker | None = None, *, isolation: Tier | None = None, shared: bool = False) -> None:
        self.stage = stage or JailedWorker(STAGE, isolation)
        self.judge: Worker = JailedWorker("tutor.judge", isolation)
        self._isolation = isolation
        self.compiler = self.new_compiler()
        self._values: dict[tuple[str, str, int], bytes] = {}
        self._figures: dict[bytes, list[Figures]] = {}
        self._solved: dict[str, Solved] = {}
        count = max(2, os.cpu_count() or 2)
        self._slots = asyncio.Semaphore(count)
        self._most = count - 1 if shared else None
        self._chip = asyncio.Lock()

    def new_compiler(self) -> Compiler:
        """One more compile server, which its user ends."""
        return Compiler(JailedWorker("tutor.judge.compile", self._isolation))

    def stages(self, exercise: Exercise) -> tuple[StageName, ...]:
        """The stages of a whole check of this exercise, in order."""
        return PREDICT_STAGES if exercise.kind == "predict" else AVAILABLE

    async def warm(self) -> None:
        """Start the workers, so that the first check does not wait for JAX. What fails here is said by the check."""
        await asyncio.gather(self.stage.start(), self.judge.start(), self.compiler.start(), return_exceptions=True)

    async def isolation(self) -> Isolation:
        """The tier that both workers have proved: what was tried and denied there, and why there is no better one.
        They are started for that. `WorkerDied` if one does not start, `NotIsolated` in the tier that was asked for."""
        await asyncio.gather(self.stage.start(), self.judge.start())
        return weakest([worker.isolation for worker in (self.stage, self.judge)])

    async def check(
        self,
        exercise: Exercise,
        source: bytes,
        path: Path | str,
        *,
        target: StageName | None = None,
        only: Sequence[StageName] | None = None,
        hidden: bool = False,
        seed: int | None = None,
        whole_jaxpr: bool = False,
        chips: tuple[str, ...] | None = None,
        key: bytes | None = None,
    ) -> AsyncGenerator[Event]:
        """Judge one attempt. Closing the iterator, or cancelling its task, stops every run of it.

        `key`: the set's secret, from which the inputs are drawn (`sets.key`); None for the public ones.

        `target` runs one stage and its ancestors, `only` just the stages that it names (their parents with them);
        without either it is a whole check."""
        if exercise.kind == "predict":
            answers = check_answers(self.stage, exercise, source, str(path), known=self._solved, target=target)
            async with contextlib.aclosing(answers):
                async for said in answers:
                    yield said
            return
        stages = wanted_stages(target, AVAILABLE) if only is None else tuple(s for s in AVAILABLE if s in only)
        judged = subject(exercise, source, str(path), hidden=hidden, seed=seed, chips=chips, key=key)
        check = Check(self.runs(judged), stages, whole=target is None and only is None, whole_jaxpr=whole_jaxpr)
        async with contextlib.aclosing(follow(check)) as events:
            async for event in events:
                yield event

    async def solve(self, exercise: Exercise) -> Solved:
        """The right answers of a predict exercise. `BrokenKernels` if there are none."""
        return await solve(self.stage, exercise, self._solved)

    def runs(self, judged: Subject) -> Runs:
        """What the stages of one check ask the workers through."""
        return Runs(
            self.stage,
            self.judge,
            judged,
            self._values,
            self._slots,
            self.compiler,
            self._figures,
            self._most,
            self._chip,
        )

    async def trace(
        self, exercise: Exercise, source: bytes, path: Path | str, *, whole: bool = False
    ) -> KernelsTraced | None:
        """What a program does, without judging it; None if it does not trace. `whole`: the jaxpr of the whole program
        with its index maps (of a predict exercise there is none)."""
        return await trace_of(self.check(exercise, source, path, target="trace", whole_jaxpr=whole))

    async def tune(
        self,
        exercise: Exercise,
        source: bytes,
        path: Path | str,
        *,
        wanted: Wanted = Wanted(),
        chips: tuple[str, ...] | None = None,
    ) -> AsyncGenerator[Sweep]:
        """Try block sizes for an attempt: each answer is the sweep so far. `CannotTune` if it has none to try.

        Without `chips` it is for the chip of this machine, or the exercise's first. Closing the iterator stops every
        run of it."""
        if exercise.kind == "predict":
            raise CannotTune(f"{exercise.slug} is a predict exercise: it has no kernel of yours to tune.")
        judged = subject(exercise, source, str(path), chips=chips or chips_here(exercise.chips))
        async with contextlib.aclosing(tune(self.runs(judged), wanted, measure_here(), self.new_compiler)) as pictures:
            async for picture in pictures:
                yield picture

    async def bench(self, set_id: str, exercises: Sequence[Exercise], chips: tuple[str, ...]) -> AsyncGenerator[Bench]:
        """The references of kernel exercises beside plain JAX: each answer is the table so far."""
        async with contextlib.aclosing(bench(self.runs, set_id, exercises, chips, measure_here())) as tables:
            async for table in tables:
                yield table

    async def aclose(self) -> None:
        """End the workers."""
        await asyncio.gather(self.stage.aclose(), self.judge.aclose(), self.compiler.aclose())


async def follow(check: Check) -> AsyncGenerator[Event]:
    """Run a check and yield what it tells. Leaving early stops it."""
    task = asyncio.create_task(check.run())
    try:
        while (event := await check.events.get()) is not None:
            yield event
        await task
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def trace_of(check: AsyncGenerator[Event]) -> KernelsTraced | None:
    """What a check tells of the kernels; None if the attempt does not trace."""
    traced: KernelsTraced | None = None
    async with contextlib.aclosing(check) as events:
        async for event in events:
            if isinstance(event, KernelsTraced):
                traced = event
    return traced


class Check:
    """One run of the ladder. `events` ends with None.

    `whole`: every stage was asked for, so the numbers must have been confirmed. `refused`: the result of `load`, where
    it is known already that the file does not load."""

    def __init__(
        self,
        runs: Runs,
        stages: tuple[StageName, ...],
        *,
        whole: bool,
        whole_jaxpr: bool = False,
        refused: StageResult | None = None,
    ) -> None:
        self.events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._runs = runs
        self._stages = stages
        self._whole = whole
        self._whole_jaxpr = whole_jaxpr
        self._refused = refused
        self._done: dict[StageName, StageResult] = {}
        self._finished = {name: asyncio.Event() for name in stages}
        self._timing: Timing | None = None
        self._compiled: list[Compilation] = []

    @property
    def subject(self) -> Subject:
        return self._runs.subject

    async def run(self) -> None:
        """Run every stage, then say the verdict."""
        began = time.monotonic()
        if self._refused is not None:
            self._refuse(self._refused)
            return
        # The programs for interpret mode do not wait for the trace: on a good attempt that saves its whole time. Where
        # the machine is shared it saves nothing, and an attempt that hangs would hold two slots at once.
        asked = "interpret" in self._stages
        ahead = self._runs.artifacts("cpu") if asked and self._runs.most is None else None
        lowering = SharedLowering(self._runs)
        if "compile" in self._stages:
            self._runs.compiler.start_soon()
        try:
            traced = await self._trace()
            ahead = self._runs.artifacts("cpu") if asked and ahead is None else ahead
            work: dict[StageName, Coroutine[Any, Any, StageResult]] = {
                "structure": self._structure(traced, lowering, ahead),
                "hazards": hazards_stage(self._runs, traced),
                "lower": self._lower(lowering),
                "compile": self._compile(traced, lowering),
                "device": self._device(),
            }
            if ahead is not None:
                work["interpret"] = interpret_stage(self._runs, traced, ahead, self._case_known, self._simulated)
            try:
                async with asyncio.TaskGroup() as group:
                    for name in self._stages:
                        if name in work:
                            group.create_task(self._stage(name, work[name]))
            finally:
                for stage in work.values():
                    stage.close()  # unasked, or cancelled before it began; nothing happens to one that has ended
            self._say_verdict(traced, time.monotonic() - began)
        finally:
            await lowering.close()
            if ahead is not None:
                await ahead.close()
            self.events.put_nowait(None)

    def _refuse(self, load: StageResult) -> None:
        """All there is to say of a file that does not load."""
        self._finish(load)
        for name in self._stages[1:]:
            self._finish(stage_result(name, status="skipped", reason=skip_reason(name, self._done)))
        self._say_verdict(Tracing(load=load), load.seconds)
        self.events.put_nowait(None)

    async def _trace(self) -> Tracing:
        self._start("load")
        began = time.monotonic()
        try:
            traced = await trace_stages(self._runs, whole=self._whole_jaxpr)
        except (WorkerDied, BadAnswer, Failed) as error:
            self._finish(our_fault("load", error, time.monotonic() - began))
            traced = Tracing()
        else:
            self._finish(traced.load)
        if "trace" in self._stages:
            self._start("trace")
            reason = skip_reason("trace", self._done)
            self._finish(stage_result("trace", status="skipped", reason=reason) if reason else traced.trace)
            if traced.marked is not None and not reason:
                self.events.put_nowait(KernelsTraced(traced.kernels, traced.marked, tuple(traced.facts.values())))
        return traced

    async def _stage(self, name: StageName, work: Coroutine[Any, Any, StageResult]) -> None:
        for parent in PARENTS[name]:
            if parent in self._finished:
                await self._finished[parent].wait()
        reason = skip_reason(name, self._done)
        if reason:
            work.close()
            self._finish(stage_result(name, status="skipped", reason=reason))
            return
        self._start(name)
        began = time.monotonic()
        try:
            result = await work
        except (WorkerDied, BadAnswer, Failed) as error:
            result = our_fault(name, error, time.monotonic() - began)
        self._finish(result)

    async def _simulated(self) -> None:
        """Wait until the simulator has said all that it will."""
        if "hazards" in self._finished:
            await self._finished["hazards"].wait()

    async def _device(self) -> StageResult:
        result, self._timing = await device_stage(self._runs)
        return result

    async def _structure(self, traced: Tracing, lowering: SharedLowering, interpreted: Stream | None) -> StageResult:
        result, apart = await asyncio.gather(
            structure_stage(self._runs, traced, lowering, interpreted), other_chips(self._runs, lowering)
        )
        findings = [*result.findings, *apart]
        if any(found.code in OF_THE_TPU_RUN for found in findings) and "interpret" in self._finished:
            await self._finished["interpret"].wait()
        findings = [found for found in findings if with_right_numbers(found, self._done.get("interpret"))]
        return stage_result("structure", findings, result.cases, seconds=result.seconds)

    async def _lower(self, lowering: SharedLowering) -> StageResult:
        result = await lower_stage(lowering)
        if (mosaic := (await lowering.get()).mosaic) is not None:
            self.events.put_nowait(Lowered(*mosaic, path=self.subject.attempt.path))
        return result

    def _case_known(self, case: CaseResult) -> None:
        self.events.put_nowait(CaseFinished("interpret", case))

    async def _compile(self, traced: Tracing, lowering: SharedLowering) -> StageResult:
        result, self._compiled = await compile_stage(self._runs, traced, (await lowering.get()).artifacts)
        return result

    def _start(self, name: StageName) -> None:
        self.events.put_nowait(StageStarted(name=name))

    def _finish(self, result: StageResult) -> None:
        result = in_own_words(result, self.subject.diagnosis)
        self._done[result.name] = result
        if result.name in self._finished:
            self._finished[result.name].set()
        self.events.put_nowait(StageFinished(result=result))

    def _say_verdict(self, traced: Tracing, seconds: float) -> None:
        verdict = assemble(
            self.subject,
            self._done,
            kernels=traced.kernels,
            compiled=self._compiled,
            timing=self._timing,
            printed=self._runs.printed,
            hello=self._runs.stage.hello,
            device=find_device(),
            whole=self._whole,
            seconds=seconds,
        )
        self.events.put_nowait(CheckFinished(verdict=verdict))


def our_fault(name: StageName, error: WorkerDied | BadAnswer | Failed, seconds: float) -> StageResult:
    """The result of a stage that could not be run: through no fault of the attempt, unless it forged an answer."""
    if isinstance(error, NotIsolated):
        message = "The tier of isolation that was asked for cannot be had here, so nothing was run."
        found = finding("KT816", message, raw=error.tail)
    elif isinstance(error, WorkerDied):
        message = "A worker process of the tutor ended while it ran this stage. It is started again for the next check."
        found = finding("KT902", message, raw=error.tail or None)
    elif isinstance(error, BadAnswer) and error.module == STAGE:
        # There the attempt's own Python runs, and nothing else of ours ever writes what cannot be read.
        message = "The process that ran your program answered with something that no stage of the tutor says."
        forged = finding("KT830", message, raw=str(error), hint="Leave open descriptors alone that are not your own.")
        return stage_result(name, [forged], seconds=seconds)
    elif isinstance(error, BadAnswer):
        found = finding("KT903", "A worker of the tutor answered with something that is not a record.", raw=str(error))
    else:
        found = error.finding
    return stage_result(name, [found], status="error", reason=found.message, seconds=seconds)
