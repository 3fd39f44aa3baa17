"""A program that must fail, by whichever stage: it is judged until something fails, and no further."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from tutor.ladder.check import Ladder
from tutor.ladder.events import CaseFinished, StageFinished
from tutor.protocol import Record, StageName, StageResult
from tutor.sets.exercise import Exercise

QUICK: tuple[StageName, ...] = ("load", "trace", "interpret", "structure")
"""What nearly every such program fails at. The dearer stages are asked about what these let through."""


class Failure(Record, frozen=True):
    """The first that failed: a stage with its code, or a case of it, which has no code yet. `trouble`: the reason, if
    it was no fault of the program's."""

    stage: StageName
    code: str | None = None
    trouble: str | None = None


async def first_failure(
    ladder: Ladder, exercise: Exercise, source: bytes, path: str, stages: Sequence[StageName]
) -> Failure | None:
    """The first case or stage that fails, on public and hidden cases, in the order in which they end; everything else
    is stopped then. None if all of `stages` let the program through."""
    events = ladder.check(exercise, source, path, only=stages, hidden=True)
    async with contextlib.aclosing(events):
        async for event in events:
            if isinstance(event, CaseFinished) and event.case.status == "failed":
                return Failure(event.stage)
            if isinstance(event, StageFinished) and event.result.status in ("failed", "error"):
                return _failure(event.result)
    return None


def _failure(result: StageResult) -> Failure:
    code = next((found.code for found in result.findings if found.severity == "error"), None)
    ours = result.status == "error"
    return Failure(result.name, code, (result.reason or "no reason is known") if ours else None)
