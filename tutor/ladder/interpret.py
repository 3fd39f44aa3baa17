"""`interpret`: the stager exports each case for the CPU, the judge runs it on fresh inputs and compares."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import msgspec

from tutor.findings import finding
from tutor.ladder.across import across_cases
from tutor.ladder.endings import ending
from tutor.ladder.hazards import simulate_case
from tutor.ladder.runs import HANG_LIMITS, RUN_LIMITS, Failed, Runs, Stream
from tutor.ladder.same_program import another_program
from tutor.ladder.tracing import Tracing
from tutor.ladder.verdict import stage_result
from tutor.protocol import UNREFERENCED, CaseResult, Finding, StageResult, Status
from tutor.wire import Artifact, Broken, Ended, Given, InterpretJob, Judged, Loaded

NOTHING_TO_COMPARE = "there is no reference, and no simulated result to compare with"


async def interpret_stage(
    runs: Runs,
    traced: Tracing,
    ahead: Stream,
    known: Callable[[CaseResult], None],
    simulated: Callable[[], Awaitable[None]],
) -> StageResult:
    """Judge every case as soon as its program is there; `known` is told of each case as it is judged. Without anything
    else to compare with, what the simulator gave is awaited, with `simulated`."""
    began = time.monotonic()
    judging: dict[str, asyncio.Task[tuple[CaseResult, list[Finding]]]] = {}
    refused: list[Finding] = []
    unavailable: str | None = None
    missing: Finding | None = None
    try:
        async for answer in ahead:
            if isinstance(answer, Artifact):
                refused += another_program(traced, answer.case, answer.jaxpr_sha256)
            if isinstance(answer, Artifact) and answer.data is not None:
                judging[answer.case] = asyncio.create_task(
                    _judge(runs, traced, answer.case, answer.data, known, simulated)
                )
            elif isinstance(answer, Artifact):
                unavailable = unavailable or answer.unavailable
                refused += answer.findings
            elif isinstance(answer, Loaded):
                refused += answer.findings
            elif isinstance(answer, Broken):
                raise Failed(answer)
            elif isinstance(answer, Ended) and len(judging) < len(runs.subject.cases) and not refused:
                missing = ending(answer, "interpret", wall_seconds=RUN_LIMITS.wall_seconds)
        judged = await asyncio.gather(*judging.values())
    finally:
        for task in judging.values():
            task.cancel()
    seconds = time.monotonic() - began
    if unavailable and not refused and all(result.status == "passed" for result, _ in judged):
        await simulated()
        unconfirmed = await _simulate_instead(runs, traced) if runs.subject.given is None else []
        status: Status = "failed" if unconfirmed else "unavailable"
        seconds = time.monotonic() - began
        return stage_result("interpret", unconfirmed, status=status, reason=unavailable, seconds=seconds)
    alone = runs.subject.given is not None and runs.subject.given.expected is None and not runs.simulated
    if alone and all(result.status == "passed" for result, _ in judged) and not (missing or refused):
        return stage_result("interpret", status="unavailable", reason=NOTHING_TO_COMPARE, seconds=seconds)
    cases = [result for result, _ in judged]
    findings = [found for _, some in judged for found in some]
    lost = [missing] if missing else []
    findings = across_cases(cases, findings, runs.subject.cases)
    if runs.subject.given is not None and runs.subject.given.expected is None and not (missing or refused or findings):
        findings = [_unreferenced()]
    return stage_result("interpret", [*lost, *refused, *findings], cases, seconds=seconds)


def _unreferenced() -> Finding:
    message = "The file has no `reference`: interpret mode and the simulator agree, and that is all that is known."
    hint = "Define `reference(*args)`, the same function in plain NumPy or jnp, and the numbers are compared."
    return finding(UNREFERENCED, message, severity="note", hint=hint)


async def _simulate_instead(runs: Runs, traced: Tracing) -> list[Finding]:
    """What the simulator says of the cases that `hazards` leaves out: without `interpret`, nothing else checks their
    numbers. What the simulator cannot run is nobody's fault where `hazards` cannot run it either."""
    left = [case for case in runs.subject.cases if not case.hazard and case.name in traced.facts]
    outcomes = await asyncio.gather(*(simulate_case(runs, traced, case, "on_wait") for case in left))
    return [found for outcome in outcomes for found in outcome.findings if found.severity == "error"]


async def _given(runs: Runs, case: str, simulated: Callable[[], Awaitable[None]]) -> Given | None:
    given = runs.subject.given
    if given is None or given.expected is not None:
        return given
    await simulated()
    return msgspec.structs.replace(given, expected=runs.simulated.get(case), simulated=True)


async def _judge(
    runs: Runs,
    traced: Tracing,
    name: str,
    data: bytes,
    known: Callable[[CaseResult], None],
    simulated: Callable[[], Awaitable[None]],
) -> tuple[CaseResult, list[Finding]]:
    subject = runs.subject
    case = subject.case(name)
    limits = HANG_LIMITS if subject.may_hang else RUN_LIMITS
    job = InterpretJob(
        oracle=subject.oracle,
        case=case,
        seeds=subject.seeds(case),
        artifact=data,
        tolerance=subject.tolerance,
        facts=traced.facts.get(name),
        limits=limits,
        given=await _given(runs, name, simulated),
    )
    answered: tuple[CaseResult, list[Finding]] | None = None
    first = name == subject.cases[0].name
    async for answer in runs.ask(runs.judge, job, at_once=first):
        if isinstance(answer, Judged):
            answered = answer.result, answer.findings
            known(answer.result)
        elif isinstance(answer, Broken):
            raise Failed(answer)
        elif isinstance(answer, Ended) and answered is None:
            problem = ending(answer, "interpret", wall_seconds=limits.wall_seconds, case=name)
            return CaseResult(name, "failed"), [problem]
    assert answered is not None
    return answered
