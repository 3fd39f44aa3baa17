"""Programs that are other ones for other chips.

All stages judge the program for the first chip. A function may look at the chip and give another program for another
one, to use what that chip has; then that program is an attempt of its own, and is judged like the first."""

from __future__ import annotations

import asyncio

import msgspec

from tutor.ladder.hazards import hazards_stage
from tutor.ladder.interpret import interpret_stage
from tutor.ladder.lower import SharedLowering
from tutor.ladder.runs import Runs
from tutor.ladder.structure import structure_stage
from tutor.ladder.tracing import trace_stages
from tutor.protocol import CaseResult, Finding


async def other_chips(runs: Runs, lowering: SharedLowering) -> list[Finding]:
    """What is wrong with the programs for chips that get another one than the first chip. Mostly there are none."""
    if runs.subject.rules is None:
        return []
    apart = (await lowering.get()).apart
    return [found for chip in runs.subject.chips if chip in apart for found in await _judged(runs, chip)]


async def _judged(runs: Runs, chip: str) -> list[Finding]:
    other = runs.about(msgspec.structs.replace(runs.subject, chips=(chip,)))
    lowering, ahead = SharedLowering(other), other.artifacts("cpu")
    try:
        traced = await trace_stages(other)
        stages = [traced.load, traced.trace]
        if all(stage.status == "passed" for stage in stages):
            stages += await asyncio.gather(
                structure_stage(other, traced, lowering, ahead),
                hazards_stage(other, traced),
                interpret_stage(other, traced, ahead, _nobody, _nothing),
            )
    finally:
        await lowering.close()
        await ahead.close()
    found = (found for stage in stages for found in stage.findings)
    return [_for_chip(problem, chip) for problem in found if problem.severity == "error"]


def _for_chip(found: Finding, chip: str) -> Finding:
    message = f"For {chip} your function gives another program. There: {found.message}"
    return msgspec.structs.replace(found, message=message)


def _nobody(_: CaseResult) -> None:
    """Nobody is told of each case."""


async def _nothing() -> None:
    """There is always an oracle to compare with."""
