"""A look at who has the TPU open while the tutor works: only the device runner may."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tutor.ladder.chip import DEV, PROC, RUNNER, Holder, devices

EVERY_SECONDS = 0.02
"""A process that opens the chip keeps it for longer than this: loading its runtime alone takes a second."""


@asynccontextmanager
async def watch(dev: Path = DEV, proc: Path = PROC) -> AsyncIterator[dict[int, Holder]]:
    """Everyone who is seen with a TPU device file open meanwhile, by process."""
    seen: dict[int, Holder] = {}

    async def look() -> None:
        while True:
            seen.update({holder.pid: holder for holder in devices(dev, proc).holders})
            await asyncio.sleep(EVERY_SECONDS)

    task = asyncio.create_task(look())
    try:
        yield seen
    finally:
        seen.update({holder.pid: holder for holder in devices(dev, proc).holders})
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def intruders(seen: dict[int, Holder], ours: int) -> list[Holder]:
    """Of those who were seen, the tutor's own processes that are not the device runner; `ours` is this process."""
    return [one for one in seen.values() if one.pid == ours or (one.module is not None and one.module != RUNNER)]
