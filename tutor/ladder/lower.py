"""`lower`: the stager exports every case for TPU, where Mosaic refuses what the chip cannot do."""

from __future__ import annotations

import time

from tutor.ladder.endings import ending
from tutor.ladder.runs import RUN_LIMITS, Failed, Runs
from tutor.ladder.verdict import stage_result
from tutor.protocol import CaseResult, Finding, StageResult
from tutor.wire import Artifact, Broken, Ended, Loaded


async def lower_stage(runs: Runs) -> StageResult:
    """Export every case for TPU. The artifacts are kept for the stages that need them."""
    began = time.monotonic()
    findings: list[Finding] = []
    made: dict[str, bool] = {}
    stream = runs.artifacts("tpu")
    try:
        async for answer in stream:
            if isinstance(answer, Artifact):
                findings += answer.findings
                made[answer.case] = made.get(answer.case, True) and answer.data is not None
                if answer.data is not None:
                    runs.lowered.update({(answer.case, chip): answer.data for chip in answer.chips})
            elif isinstance(answer, Loaded):
                findings += answer.findings
            elif isinstance(answer, Broken):
                raise Failed(answer)
            elif isinstance(answer, Ended) and len(made) < len(runs.subject.cases) and not findings:
                findings.append(ending(answer, "lower", wall_seconds=RUN_LIMITS.wall_seconds))
    finally:
        await stream.close()
    cases = [CaseResult(name, "passed" if whole else "failed") for name, whole in made.items()]
    return stage_result("lower", findings, cases, seconds=time.monotonic() - began)
