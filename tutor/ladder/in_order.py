"""Several programs judged side by side, and what came of them in their own order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable

AT_ONCE = 2
"""Programs that are judged at the same time: each waits for its slowest stage, and the other fills the gaps."""


async def in_order[T](work: Iterable[Callable[[], Awaitable[T]]]) -> AsyncGenerator[T]:
    """Begin everything, `AT_ONCE` at a time, and yield each result in the order of `work`.

    The first error ends it; what is then under way is cancelled and waited for, as it is when the caller leaves."""
    slots = asyncio.Semaphore(AT_ONCE)

    async def do(each: Callable[[], Awaitable[T]]) -> T:
        async with slots:
            return await each()

    tasks = [asyncio.create_task(do(each)) for each in work]
    try:
        for task in tasks:
            yield await task
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
