"""`hazards`: the stager simulates TPU memory in each mode that the jaxpr needs; the judge compares the numbers."""

from __future__ import annotations

import asyncio
import time

from tutor.findings import finding
from tutor.ladder.endings import ending
from tutor.ladder.runs import HANG_LIMITS, RUN_LIMITS, Failed, Runs
from tutor.ladder.same_program import another_program
from tutor.ladder.tracing import Tracing
from tutor.ladder.verdict import stage_result
from tutor.protocol import CaseFacts, CaseResult, CaseSpec, Finding, StageResult
from tutor.wire import HAZARD_MODES, Broken, CompareJob, Ended, HazardJob, HazardMode, Judged, Loaded, Simulated

NUMBERS = ("KT401", "KT410")


class Outcome:
    """What one mode said of one case."""

    def __init__(self, case: str) -> None:
        self.case = case
        self.findings: list[Finding] = []
        self.printed = ""
        self.unavailable: str | None = None
        self.result: CaseResult | None = None


async def hazards_stage(runs: Runs, traced: Tracing) -> StageResult:
    """Run every hazard case in every mode it needs."""
    began = time.monotonic()
    wanted = [
        (case, mode)
        for case in runs.subject.cases
        if case.hazard and case.name in traced.facts
        for mode in HAZARD_MODES
        if mode in traced.facts[case.name].modes
    ]
    outcomes = await asyncio.gather(*(simulate_case(runs, traced, case, mode) for case, mode in wanted))
    seconds = time.monotonic() - began
    runs.printed += next((outcome.printed for outcome in outcomes if outcome.printed), "")
    # What the simulator saw happen comes before the wrong numbers that come of it.
    findings = sorted((found for outcome in outcomes for found in outcome.findings), key=lambda f: f.code in NUMBERS)
    cannot = next((outcome.unavailable for outcome in outcomes if outcome.unavailable), None)
    if cannot and not any(found.severity == "error" for found in findings):
        return stage_result("hazards", findings, status="unavailable", reason=cannot, seconds=seconds)
    if not outcomes:
        return stage_result("hazards", status="unavailable", reason="no case is marked for it", seconds=seconds)
    return stage_result("hazards", findings, _by_case(outcomes), seconds=seconds)


def _by_case(outcomes: list[Outcome]) -> list[CaseResult]:
    """One result a case: the first mode that failed, else the first."""
    results: dict[str, CaseResult] = {}
    for outcome in outcomes:
        failed = any(found.severity == "error" for found in outcome.findings)
        error = outcome.result.error if outcome.result else None
        if outcome.case not in results or (failed and results[outcome.case].status == "passed"):
            results[outcome.case] = CaseResult(outcome.case, "failed" if failed else "passed", error)
    return list(results.values())


async def simulate_case(runs: Runs, traced: Tracing, case: CaseSpec, mode: HazardMode) -> Outcome:
    """Run one case in one mode, and let the judge compare."""
    outcome = Outcome(case.name)
    seed = runs.subject.hazard_seed(case)
    inputs = await runs.inputs(case, seed)
    waits = next((found for found in traced.facts[case.name].suspects if found.code == "KT322"), None)
    hangs = runs.subject.may_hang or waits is not None
    limits = HANG_LIMITS if hangs else RUN_LIMITS
    job = HazardJob(runs.subject.attempt, case, mode, inputs, limits, runs.subject.chips[0])
    simulated, ended, refused = await _run(runs, job)
    can_wait = _can_wait(traced.facts[case.name])
    busy = not hangs and _worked(ended)
    if ended.how == "wall" and can_wait and not hangs and not busy:  # a machine stalls a run once; a real hang is twice
        simulated, ended, refused = await _run(runs, job)
    outcome.findings += refused
    if simulated is None:
        slow = ended.how in ("wall", "cpu") and (not can_wait or busy)
        if slow and runs.subject.given is not None and not runs.subject.may_hang:
            # A kernel of the user's own may be large, and this one has nothing that could hang, or did not wait.
            outcome.unavailable = (
                f"the simulation had not come to an end after {limits.wall_seconds:.0f} seconds: give smaller arguments"
            )
        elif slow:
            outcome.findings.append(ending(ended, "hazards", wall_seconds=limits.wall_seconds, case=case.name))
        elif not refused:
            outcome.findings.append(_stopped(ended, case, mode, limits.wall_seconds, waits, twice=not hangs))
        return outcome
    outcome.printed = simulated.printed
    outcome.unavailable = simulated.unavailable
    outcome.findings += simulated.findings
    outcome.findings += another_program(traced, case.name, simulated.jaxpr_sha256)
    if simulated.outputs is not None and mode == "on_wait":
        runs.simulated[case.name] = simulated.outputs
    given = runs.subject.given
    if simulated.outputs is not None and (given is None or given.expected is not None):
        await _compare(runs, traced, case, seed, mode, simulated.outputs, outcome)
    return outcome


def _worked(ended: Ended) -> bool:
    """Whether the run was at work for most of its time. One that hangs waits."""
    return ended.busy > 0.2


def _can_wait(facts: CaseFacts) -> bool:
    """Whether some kernel waits for anything, so that it can hang."""
    kinds = {access.kind for kernel in facts.kernels for access in kernel.kernel.accesses}
    return bool(kinds & {"copy_wait", "semaphore"})


async def _run(runs: Runs, job: HazardJob) -> tuple[Simulated | None, Ended, list[Finding]]:
    simulated: Simulated | None = None
    ended = Ended(id=0, how="done")
    refused: list[Finding] = []
    async for answer in runs.ask(runs.stage, job):
        if isinstance(answer, Simulated):
            simulated = answer
        elif isinstance(answer, Loaded):
            refused += answer.findings
        elif isinstance(answer, Broken):
            raise Failed(answer)
        elif isinstance(answer, Ended):
            ended = answer
    return simulated, ended, refused


def _stopped(
    ended: Ended, case: CaseSpec, mode: HazardMode, seconds: float, waits: Finding | None, *, twice: bool
) -> Finding:
    """`waits`: what the rules know of a wait that never ends."""
    if ended.how in ("wall", "cpu"):
        message = (
            f"In the simulator ({mode.replace('_', ' ')}) the kernel did not finish in {seconds:.0f} "
            f"seconds{', twice' if twice else ''}. On a TPU it would most likely hang."
        )
        hint = "Look for a wait whose copy is never started, and for a loop that never ends."
        line, ref = (waits.line, waits.ref) if waits else (None, None)
        return finding("KT406", message, case=case.name, line=line, ref=ref, hint=hint)
    return ending(ended, "hazards", wall_seconds=seconds, case=case.name)


async def _compare(
    runs: Runs, traced: Tracing, case: CaseSpec, seed: int, mode: HazardMode, outputs: bytes, outcome: Outcome
) -> None:
    job = CompareJob(
        oracle=runs.subject.oracle,
        case=case,
        seed=seed,
        mode=mode,
        outputs=outputs,
        tolerance=runs.subject.tolerance,
        facts=traced.facts.get(case.name),
        limits=RUN_LIMITS,
        given=runs.subject.given,
    )
    async for answer in runs.ask(runs.judge, job):
        if isinstance(answer, Judged):
            outcome.result = answer.result
            outcome.findings += answer.findings
        elif isinstance(answer, Broken):
            raise Failed(answer)
        elif isinstance(answer, Ended) and outcome.result is None:
            outcome.findings.append(ending(answer, "hazards", wall_seconds=RUN_LIMITS.wall_seconds, case=case.name))
