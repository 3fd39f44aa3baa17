"""`structure`: the exercise's rules and the general checks, judged on the facts of every case."""

from __future__ import annotations

import time

from tutor.ladder.endings import ending
from tutor.ladder.runs import RUN_LIMITS, TRACE_LIMITS, Failed, Runs
from tutor.ladder.tracing import Tracing
from tutor.ladder.verdict import stage_result
from tutor.protocol import CaseFacts, StageResult
from tutor.wire import Broken, Ended, Ruled, StructureJob, Traced, TraceJob


async def structure_stage(runs: Runs, traced: Tracing) -> StageResult:
    """Judge the structure. The reference is traced only where a rule compares with it."""
    began = time.monotonic()
    subject = runs.subject
    job = StructureJob(
        oracle=subject.oracle,
        rules=subject.rules,
        cases=subject.cases,
        facts=list(traced.facts.values()),
        reference=await _reference(runs),
        limits=RUN_LIMITS,
    )
    ruled: Ruled | None = None
    async for answer in runs.ask(runs.judge, job):
        if isinstance(answer, Ruled):
            ruled = answer
        elif isinstance(answer, Broken):
            raise Failed(answer)
        elif isinstance(answer, Ended) and ruled is None:
            problem = ending(answer, "structure", wall_seconds=RUN_LIMITS.wall_seconds)
            return stage_result("structure", [problem], status="error", reason=problem.message)
    findings = ruled.findings if ruled else []
    return stage_result("structure", findings, seconds=time.monotonic() - began)


async def _reference(runs: Runs) -> list[CaseFacts]:
    """The facts of the reference solution, where a rule is a ratio to it."""
    subject = runs.subject
    if subject.reference is None or (subject.rules.max_steps_ratio or subject.rules.max_bytes_ratio) is None:
        return []
    facts: list[CaseFacts] = []
    values = await runs.index_values()
    async for answer in runs.ask(runs.stage, TraceJob(subject.reference, subject.cases, values, TRACE_LIMITS)):
        if isinstance(answer, Traced) and answer.facts is not None:
            facts.append(answer.facts)
    return facts
