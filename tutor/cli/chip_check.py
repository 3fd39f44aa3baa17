"""`doctor` on a machine with a TPU: one whole check is run, and who opens the chip meanwhile is looked at."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from tutor.cli.machine import Check
from tutor.ladder.check import Ladder
from tutor.ladder.chip import DEV, PROC, RUNNER, in_words
from tutor.ladder.chip_watch import intruders, watch
from tutor.sets import Exercise

NAME = "TPU opened by"


def who_opens_the_chip(exercise: Exercise, dev: Path = DEV, proc: Path = PROC) -> Check:
    """Check the exercise's own reference with every worker of the tutor, and say which of them opened the chip."""
    return asyncio.run(_watched(exercise, dev, proc))


async def _watched(exercise: Exercise, dev: Path, proc: Path) -> Check:
    source = (exercise.reference or exercise.folder / "starter.py").read_bytes()
    ladder = Ladder()
    async with watch(dev, proc) as seen:
        try:
            await ladder.warm()
            async for _ in ladder.check(exercise, source, "doctor.py"):
                pass
        finally:
            await ladder.aclose()
    if wrong := intruders(seen, os.getpid()):
        words = ", ".join(map(in_words, wrong))
        return Check(NAME, "problem", f"{words}, though only the device runner may", "Tell the authors of kerneltutor.")
    timed = any(holder.module == RUNNER for holder in seen.values())
    runner = "the device runner alone" if timed else "no worker of the tutor (nothing was timed)"
    return Check(NAME, "ok", f"{runner}, in a whole check of {exercise.slug}")
