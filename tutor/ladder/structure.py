"""`structure`: the exercise's rules and the general checks, judged on the facts of every case."""

from __future__ import annotations

import asyncio
import time

import msgspec

from tutor.findings import finding
from tutor.ladder.endings import ending
from tutor.ladder.figures import not_compared, reference_figures
from tutor.ladder.lower import SharedLowering
from tutor.ladder.runs import RUN_LIMITS, TRACE_LIMITS, Failed, Runs, Stream
from tutor.ladder.same_program import another_program
from tutor.ladder.tracing import Tracing
from tutor.ladder.verdict import stage_result
from tutor.protocol import CaseFacts, Finding, StageResult
from tutor.wire import Broken, Ended, Ruled, StructureJob, Traced, TraceJob, Witness, WitnessJob

OF_THE_TPU_RUN = ("KT393", "KT395", "KT396")


async def structure_stage(
    runs: Runs, traced: Tracing, lowering: SharedLowering, interpreted: Stream | None = None
) -> StageResult:
    """Judge the structure on the facts, and the facts on the TPU artifacts, as soon as these are there. `interpreted`:
    the artifacts that `interpret` runs, if it is asked for; they are held against the others."""
    began = time.monotonic()
    examined = _cross_examine(runs, traced, lowering, interpreted)
    ruled, told = await asyncio.gather(_by_the_rules(runs, traced), examined)
    return stage_result("structure", [*ruled, *told], seconds=time.monotonic() - began)


async def _by_the_rules(runs: Runs, traced: Tracing) -> list[Finding]:
    """The reference is traced only where a rule compares with it."""
    subject = runs.subject
    timed = await _timed(runs)
    reference = await reference_figures(runs)
    job = StructureJob(
        oracle=subject.oracle,
        rules=subject.rules,
        cases=[*subject.cases, *([subject.time_case] if timed else [])],
        facts=[*traced.facts.values(), *timed],
        reference=reference,
        limits=RUN_LIMITS,
    )
    return [*await _ruled(runs, job), *not_compared(subject, reference)]


async def _timed(runs: Runs) -> list[CaseFacts]:
    """The facts of the timing case where that is a case of its own, so that no other program is timed there.

    Only the exercise's rules are asked: the general ones have looked at the other cases."""
    subject = runs.subject
    case = subject.time_case
    if subject.rules is None or case.name in {checked.name for checked in subject.cases}:
        return []
    job = TraceJob(subject.attempt, [case], {}, TRACE_LIMITS, False, subject.chips[0])
    return [
        msgspec.structs.replace(answer.facts, suspects=[], doubts=[])
        async for answer in runs.ask(runs.stage, job)
        if isinstance(answer, Traced) and answer.facts is not None
    ]


async def _cross_examine(
    runs: Runs, traced: Tracing, lowering: SharedLowering, interpreted: Stream | None
) -> list[Finding]:
    """Ablation and the second witness, on the artifact of every case."""
    subject = runs.subject
    lowered = await lowering.get()
    values = await runs.index_values()
    programs = await interpreted.programs() if interpreted is not None and subject.rules is not None else {}
    witnesses = [
        Witness(
            case=case,
            artifact=lowered.artifacts[case.name, chip],
            facts=traced.facts[case.name],
            seeds=(subject.seed_of(case, 0), subject.seed_of(case, -3)),
            cpu=programs.get(case.name),
            values=values.get(case.name, b""),
        )
        for case in subject.cases
        for chip in subject.chips[:1]
        if case.name in traced.facts and (case.name, chip) in lowered.artifacts
    ]
    outside = subject.rules is None or bool(subject.rules.outside)
    job = WitnessJob(subject.oracle, witnesses, outside, subject.tolerance, RUN_LIMITS)
    findings = await _ruled(runs, job) if witnesses else []
    findings += [found for name, sha in lowered.programs.items() for found in another_program(traced, name, sha)]
    if subject.rules is None:  # nobody deceives the judge of a file of their own
        return [msgspec.structs.replace(found, severity="note") for found in findings]
    if len(witnesses) < len(traced.facts):
        message = "What the trace says could not be compared with a lowered program: `lower` says why there is none."
        findings.append(finding("KT391", message, severity="note"))
    return findings


def with_right_numbers(found: Finding, interpreted: StageResult | None) -> bool:
    """Whether a finding stands, now that `interpret` has ended: that the program for TPU gives other numbers than the
    oracle says something only of a case where the other program's are right."""
    if found.code not in OF_THE_TPU_RUN:
        return True
    return interpreted is not None and any(
        case.name == found.case and case.status == "passed" for case in interpreted.cases
    )


async def _ruled(runs: Runs, job: StructureJob | WitnessJob) -> list[Finding]:
    ruled: Ruled | None = None
    async for answer in runs.ask(runs.judge, job):
        if isinstance(answer, Ruled):
            ruled = answer
        elif isinstance(answer, Broken):
            raise Failed(answer)
        elif isinstance(answer, Ended) and ruled is None:
            return [ending(answer, "structure", wall_seconds=RUN_LIMITS.wall_seconds)]  # it was the attempt's to judge
    return ruled.findings if ruled else []
