"""`lower`: the stager exports every case for TPU, where Mosaic refuses what the chip cannot do."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from tutor.ladder.endings import ending
from tutor.ladder.runs import RUN_LIMITS, Failed, Runs
from tutor.ladder.verdict import stage_result
from tutor.protocol import CaseResult, Finding, StageResult
from tutor.wire import Artifact, Broken, Ended, Loaded


@dataclass(frozen=True)
class Lowering:
    """What exporting for TPU gave: an artifact by case and chip, and why there is none."""

    artifacts: dict[tuple[str, str], bytes]
    cases: list[CaseResult]
    findings: list[Finding]
    seconds: float
    mosaic: tuple[str, str] | None = None
    """The first case that lowered, and its Mosaic text."""
    programs: dict[str, str] = field(default_factory=dict)
    """By case, the hash of the program for the first chip."""
    apart: frozenset[str] = frozenset()
    """Chips that get another program than the first one, in some case."""


async def lower(runs: Runs) -> Lowering:
    """Export every case for TPU, once for every stage that needs the artifacts."""
    began = time.monotonic()
    artifacts: dict[tuple[str, str], bytes] = {}
    findings: list[Finding] = []
    made: dict[str, bool] = {}
    mosaic: tuple[str, str] | None = None
    programs: dict[str, str] = {}
    apart: set[str] = set()
    stream = runs.artifacts("tpu")
    try:
        async for answer in stream:
            if isinstance(answer, Artifact):
                answer = await runs.scanned(answer)
                findings += answer.findings
                programs.setdefault(answer.case, answer.jaxpr_sha256)
                if runs.subject.chips[0] not in answer.chips:
                    apart.update(answer.chips)
                made[answer.case] = made.get(answer.case, True) and answer.data is not None
                if mosaic is None and answer.mosaic:
                    mosaic = answer.case, answer.mosaic
                if answer.data is not None:
                    artifacts.update({(answer.case, chip): answer.data for chip in answer.chips})
            elif isinstance(answer, Loaded):
                findings += answer.findings
            elif isinstance(answer, Broken):
                raise Failed(answer)
            elif isinstance(answer, Ended) and len(made) < len(runs.subject.cases) and not findings:
                findings.append(ending(answer, "lower", wall_seconds=RUN_LIMITS.wall_seconds))
    finally:
        await stream.close()
    cases = [CaseResult(name, "passed" if whole else "failed") for name, whole in made.items()]
    return Lowering(artifacts, cases, findings, time.monotonic() - began, mosaic, programs, frozenset(apart))


class SharedLowering:
    """The lowering of one check: begun when a stage first asks for it, and shared by all that do."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._task: asyncio.Task[Lowering] | None = None

    async def get(self) -> Lowering:
        """Wait for it; what it raised is raised to every stage that asks."""
        if self._task is None:
            self._task = asyncio.create_task(lower(self._runs))
        return await asyncio.shield(self._task)

    async def close(self) -> None:
        """Stop it if it still goes on."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


async def lower_stage(lowering: SharedLowering) -> StageResult:
    """What Mosaic says of every case."""
    lowered = await lowering.get()
    return stage_result("lower", lowered.findings, lowered.cases, seconds=lowered.seconds)
