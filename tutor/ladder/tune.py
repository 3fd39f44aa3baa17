"""`tune`: one attempt with many block sizes, each traced, lowered and compiled for its estimate.

The block sizes reach the attempt as keyword arguments of the timing case, so its source stays as it is. Nothing is run,
and no numbers are compared: what a sweep recommends still has to pass a check."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

import msgspec

from tutor.ladder.compiler import Compiler, need_libtpu
from tutor.ladder.measured import Here
from tutor.ladder.runs import RUN_LIMITS, TRACE_LIMITS, Failed, Runs
from tutor.ladder.sweep_picture import ranked
from tutor.ladder.sweep_plan import (
    CannotTune,
    Wanted,
    block_keywords,
    combinations,
    probes,
    sensible,
    span,
    thinned,
)
from tutor.ladder.timed_case import integer_values, lowered_reference
from tutor.protocol import CaseFacts, CaseSpec, Finding, Schedule, Sweep, Tuned, TunedStatus
from tutor.wire import Artifact, ArtifactJob, Broken, Compiled, CompileJob, Ended, Loaded, Traced, TraceJob

TOGETHER = 4
"""Choices that one fork of the stager traces and exports: few, so that the compilers soon have work."""
TIMED = 8
"""Choices that are measured on a TPU: some seconds each, so only the fastest by the estimate."""
OVERFLOW = frozenset({"KT602", "KT603"})


async def tune(
    runs: Runs,
    wanted: Wanted = Wanted(),
    here: Here | None = None,
    another: Callable[[], Compiler] = Compiler,
) -> AsyncGenerator[Sweep]:
    """Sweep the attempt of `runs`; every answer is the whole picture so far, the last one is complete. What is fastest
    by the estimate is measured as well, if there is a TPU `here`. `another` makes a second compiler.

    `CannotTune` or `NoCompiler` if nothing can be swept. Closing the iterator stops what runs."""
    began = time.monotonic()
    sweep = _Sweep(runs, wanted, another)
    async with sweep:
        yield await sweep.plan()
        async for tried in sweep.results():
            yield sweep.picture(tried, time.monotonic() - began)
        if here is not None:
            async for picture in sweep.measured(here):
                yield picture
        yield msgspec.structs.replace(sweep.so_far, complete=True, seconds=time.monotonic() - began)


class _Sweep:
    """One sweep: choices go from the stager to whichever compiler is free."""

    def __init__(self, runs: Runs, wanted: Wanted, another: Callable[[], Compiler]) -> None:
        self._runs, self._wanted, self._another = runs, wanted, another
        self._case = runs.subject.time_case
        self._values = b""
        self._answers: asyncio.Queue[Tuned | tuple[str, Schedule] | Exception | None] = asyncio.Queue()
        self._idle: asyncio.Queue[Compiler] = asyncio.Queue()
        self._helpers: list[Compiler] = []
        self._task: asyncio.Task[None] | None = None
        self._known: frozenset[str] = frozenset()
        self.so_far: Sweep

    async def __aenter__(self) -> _Sweep:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await asyncio.gather(*(helper.aclose() for helper in self._helpers), return_exceptions=True)

    # ------------------------------------------------------------ the plan

    async def plan(self) -> Sweep:
        """Find out what to try."""
        subject = self._runs.subject
        await need_libtpu(self._runs.compiler)
        defaults = block_keywords(subject.attempt.source, subject.attempt.entry)
        if not defaults:
            await self._base({})  # a file that does not even load has something more important to say
            raise _nothing_to_sweep(subject.attempt.entry, subject.time_case)
        static = self._case.static
        own = {name: value for name in defaults if type(value := static.get(name, defaults[name])) is int}
        self._values = await integer_values(self._runs, self._case)
        base = await self._base(own)
        values = await self._sensible(own, base) if not self._wanted.values else self._asked(own)
        kept = thinned(values, own, self._wanted.most)
        self._choices = [own, *(choice for choice in combinations(kept, own) if choice != own)]
        if defaults != own and defaults not in self._choices:
            self._choices.append(defaults)
        self.so_far = Sweep(
            set=subject.set_id,
            exercise=subject.slug,
            attempt=subject.id,
            case=self._case.name,
            chips=list(subject.chips),
            own=own,
            defaults=defaults,
            parameters=kept,
            planned=len(self._choices) * len(subject.chips),
            possible=math.prod(map(len, values.values())),
        )
        return self.so_far

    async def _base(self, own: Mapping[str, int]) -> CaseFacts:
        """What the attempt does as the timing case calls it."""
        case = self._with(own)
        facts, findings = await self._traced([case])
        if case.name not in facts:
            first = next((one for some in findings.values() for one in some if one.severity == "error"), None)
            words = f" {first.code}: {first.message}" if first else ""
            hint = "Make it pass a check before you tune it."
            raise CannotTune(f"The attempt does not trace for the timing case.{words}", hint)
        self._known = frozenset(found.code for found in facts[case.name].suspects)
        return facts[case.name]

    def _asked(self, own: Mapping[str, int]) -> dict[str, list[int]]:
        """The values that were asked for; keywords that were not named stay as they are."""
        for name in self._wanted.values:
            if name not in own:
                known = ", ".join(own)
                raise CannotTune(f"`{self._runs.subject.attempt.entry}` has no block size {name}.", f"It has: {known}.")
        return {name: sorted(set(some)) for name, some in self._wanted.values.items()}

    async def _sensible(self, own: dict[str, int], base: CaseFacts) -> dict[str, list[int]]:
        """Values for every keyword, from the axes that it is seen to cut."""
        cases = {name: self._with(some, name) for name, some in probes(own).items()}
        facts, _ = await self._traced(list(cases.values()))
        cuts = {name: span(base, facts[name]) if name in facts else None for name in own}
        return {name: sensible(value, cuts[name]) for name, value in own.items()}

    def _with(self, values: Mapping[str, int], name: str | None = None) -> CaseSpec:
        """The timing case with other block sizes."""
        label = name or " ".join(f"{key}={value}" for key, value in values.items())
        return msgspec.structs.replace(self._case, name=label, static={**self._case.static, **values})

    # ------------------------------------------------------------ trying

    def picture(self, tried: Tuned | tuple[str, Schedule], seconds: float) -> Sweep:
        """The picture with one more answer in it."""
        known = self.so_far
        if isinstance(tried, Tuned):
            self.so_far = msgspec.structs.replace(known, seconds=seconds, tried=[*known.tried, tried])
        else:
            reference = {**known.reference, tried[0]: tried[1]}
            self.so_far = msgspec.structs.replace(known, seconds=seconds, reference=reference)
        return self.so_far

    async def measured(self, here: Here) -> AsyncGenerator[Sweep]:
        """The picture after each time: the attempt as it is called, and what is fastest by the estimate."""
        chip, case = here.row(self.so_far.chips), self._case
        if chip is None:
            notes = [*self.so_far.notes, here.why_not(self.so_far.chips)]
            self.so_far = msgspec.structs.replace(self.so_far, notes=notes)
            return
        known = [one for one in ranked(self.so_far, chip) if one.schedule is not None]
        known.sort(key=lambda one: one.values != self.so_far.own)
        for one in known[:TIMED]:
            subject = msgspec.structs.replace(self._runs.subject, time_case=self._with(one.values, case.name))
            found = await here.measure(self._runs.about(subject))
            timed = msgspec.structs.replace(one, device_us=found.attempt_us)
            tried = [timed if other is one else other for other in self.so_far.tried]
            notes = list(dict.fromkeys([*self.so_far.notes, *([found.reason] if found.reason else [])]))
            self.so_far = msgspec.structs.replace(self.so_far, tried=tried, notes=notes)
            yield self.so_far

    async def results(self) -> AsyncGenerator[Tuned | tuple[str, Schedule]]:
        """Everything that is found, as soon as it is."""
        self._task = asyncio.create_task(self._all())
        while (answer := await self._answers.get()) is not None:
            if isinstance(answer, Exception):
                raise answer
            yield answer

    async def _all(self) -> None:
        """Try every choice, the first two groups side by side; two compilers, since a compile keeps one core busy."""
        try:
            self._idle.put_nowait(self._runs.compiler)
            if (os.cpu_count() or 1) > 1 and len(self._choices) * len(self._runs.subject.chips) > TOGETHER:
                self._helpers.append(helper := self._another())
                self._idle.put_nowait(helper)
            groups = [self._choices[i : i + TOGETHER] for i in range(0, len(self._choices), TOGETHER)]
            async with asyncio.TaskGroup() as group:
                group.create_task(self._reference())
                staging = asyncio.Semaphore(1)
                for choices in groups:
                    group.create_task(self._group(choices, staging))
        except Exception as failed:
            self._answers.put_nowait(_first(failed))
        else:
            self._answers.put_nowait(None)

    async def _group(self, choices: Sequence[dict[str, int]], staging: asyncio.Semaphore) -> None:
        cases = {case.name: (case, choice) for choice in choices for case in [self._with(choice)]}
        async with staging:
            facts, findings = await self._traced([case for case, _ in cases.values()])
            refused = {name: _refusal(findings.get(name, []), facts.get(name), self._known) for name in cases}
            good = [case for name, (case, _) in cases.items() if refused[name] is None]
            artifacts, lowering = await self._exported(good)
        async with asyncio.TaskGroup() as group:
            for name, (case, choice) in cases.items():
                for chip in self._runs.subject.chips:
                    data = artifacts.get((name, chip))
                    why = refused[name] or next(iter(lowering.get(name, [])), None)
                    if refused[name] is not None or data is None:
                        self._answers.put_nowait(_not_tried(chip, choice, why))
                    else:
                        group.create_task(self._compiled(case, choice, chip, data, facts[name]))

    async def _traced(self, cases: list[CaseSpec]) -> tuple[dict[str, CaseFacts], dict[str, list[Finding]]]:
        """The facts of every case that traces, and what is said of the others; `""` is about all of them."""
        attempt, chip = self._runs.subject.attempt, self._runs.subject.chips[0]
        facts: dict[str, CaseFacts] = {}
        findings: dict[str, list[Finding]] = {}
        values = {case.name: self._values for case in cases} if self._values else {}
        async for answer in self._runs.ask(self._runs.stage, TraceJob(attempt, cases, values, TRACE_LIMITS, chip=chip)):
            if isinstance(answer, Traced):
                findings[answer.case] = answer.findings
                if answer.facts is not None:
                    facts[answer.case] = answer.facts
            elif isinstance(answer, Loaded) and answer.findings:
                findings[""] = answer.findings
            elif isinstance(answer, Broken):
                raise Failed(answer)
        return facts, findings

    async def _exported(self, cases: list[CaseSpec]) -> tuple[dict[tuple[str, str], bytes], dict[str, list[Finding]]]:
        artifacts: dict[tuple[str, str], bytes] = {}
        findings: dict[str, list[Finding]] = {}
        if not cases:
            return artifacts, findings
        subject = self._runs.subject
        job = ArtifactJob(subject.attempt, cases, ["tpu"], RUN_LIMITS, subject.chips)
        async for answer in self._runs.ask(self._runs.stage, job):
            if isinstance(answer, Artifact):
                made = await self._runs.scanned(answer)
                findings.setdefault(made.case, []).extend(made.findings)
                if made.data is not None:
                    artifacts.update({(made.case, chip): made.data for chip in made.chips})
            elif isinstance(answer, Broken):
                raise Failed(answer)
            elif isinstance(answer, Ended) and answer.how != "done":
                break  # what it had sent until then counts; the rest is said to be missing
        return artifacts, findings

    async def _compiled(
        self, case: CaseSpec, choice: dict[str, int], chip: str, artifact: bytes, facts: CaseFacts
    ) -> None:
        answer = await self._compile(artifact, case, chip, facts)
        first = next((found for found in answer.findings if found.severity == "error"), None)
        one = answer.compilation
        status: TunedStatus = "passed" if one.status == "passed" else "unavailable" if answer.unavailable else "refused"
        if first is not None and first.code in OVERFLOW:
            status = "overflow"
        missing = None if one.schedule is not None else "the compiler's schedule could not be read"
        self._answers.put_nowait(
            Tuned(
                chip,
                choice,
                status,
                first.code if first else None,
                answer.unavailable or (first.title if first else missing),
                one.vmem_bytes,
                one.vmem_limit_bytes,
                one.schedule,
            )
        )

    async def _compile(self, artifact: bytes, case: CaseSpec, chip: str, facts: CaseFacts) -> Compiled:
        job = CompileJob(
            artifact=artifact,
            case=case.name,
            chip=chip,
            path=self._runs.subject.attempt.path,
            kernels=[kernel.kernel for kernel in facts.kernels],
            estimate=True,
            values=self._values,
            sweep=True,
        )
        return await self._on_any(job)

    async def _on_any(self, job: CompileJob) -> Compiled:
        """Compile on whichever compiler is free first."""
        compiler = await self._idle.get()
        try:
            answer = await compiler.compile(job)
        finally:
            self._idle.put_nowait(compiler)
        if isinstance(answer, Broken):
            raise Failed(answer)
        return answer

    async def _reference(self) -> None:
        """The reference's estimates, called as the timing case says."""
        runs = self._runs
        with contextlib.suppress(Failed):  # a sweep is worth having without it
            program = await lowered_reference(runs, self._case, self._values)
            if program is None:
                return
            for chip, artifact in program.artifacts.items():
                job = CompileJob(
                    artifact, self._case.name, chip, "", program.kernels, estimate=True, values=self._values
                )
                answer = await self._on_any(job)
                if answer.compilation.schedule is not None:
                    self._answers.put_nowait((chip, answer.compilation.schedule))


def _first(failed: Exception) -> Exception:
    """The first of a group of failures, however deep it lies."""
    while isinstance(failed, ExceptionGroup):
        failed = failed.exceptions[0]
    return failed


def _refusal(findings: Sequence[Finding], facts: CaseFacts | None, known: frozenset[str]) -> Finding | None:
    """Why a choice is not compiled: it does not trace, or a rule finds in it what it does not find in the attempt as
    it is called, such as blocks of the result that no step writes."""
    errors = [found for found in findings if found.severity == "error"]
    if facts is not None:
        errors += [found for found in facts.suspects if found.severity == "error" and found.code not in known]
    return errors[0] if errors else None


def _not_tried(chip: str, choice: dict[str, int], why: Finding | None) -> Tuned:
    if why is None:
        return Tuned(chip, choice, "refused", reason="its program could not be made in time")
    return Tuned(chip, choice, "refused", why.code, why.title)


def _nothing_to_sweep(entry: str, case: CaseSpec) -> CannotTune:
    given = ", ".join(spec.name for spec in case.inputs)
    message = f"`{entry}` has no block sizes to sweep: no parameter of it has a whole number as its default."
    hint = (
        f"Make its block sizes keyword arguments, as in `def {entry}({given}, *, bm=128, bn=128):`, and use them in "
        "the grid and the BlockSpecs instead of numbers."
    )
    return CannotTune(message, hint)
