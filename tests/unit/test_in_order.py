"""Programs side by side: in their own order, never too many, and nothing goes on after the end."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from functools import partial

import pytest

from tutor.ladder.in_order import AT_ONCE, in_order


class Work:
    """Counts what is under way; each piece waits for its own event."""

    def __init__(self, count: int) -> None:
        self.let_go = [asyncio.Event() for _ in range(count)]
        self.begun: list[int] = []
        self.now = self.most = 0

    async def do(self, number: int) -> int:
        self.begun.append(number)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await self.let_go[number].wait()
        finally:
            self.now -= 1
        if number == 3:
            raise KeyError(number)
        return number

    def pieces(self, *numbers: int) -> list[partial[object]]:
        return [partial(self.do, number) for number in numbers]


async def test_results_come_in_the_order_of_the_work() -> None:
    work = Work(3)
    work.let_go[1].set()
    work.let_go[2].set()
    found = in_order(work.pieces(0, 1, 2))
    first = asyncio.create_task(anext(found))
    while len(work.begun) < 3:  # the second slot goes from 1 on to 2, while 0 waits
        await asyncio.sleep(0)
    assert not first.done()
    work.let_go[0].set()
    assert [await first, *[one async for one in found]] == [0, 1, 2]
    assert work.most == AT_ONCE


@pytest.mark.parametrize("how", ["left early", "an error"])
async def test_whatever_ends_it_leaves_nothing_under_way(how: str) -> None:
    work = Work(6)
    work.let_go[0].set()
    async with aclosing(in_order(work.pieces(0, 3, 4, 5))) as found:
        assert await anext(found) == 0
        while work.now < AT_ONCE:
            await asyncio.sleep(0)
        if how == "an error":
            work.let_go[3].set()
            with pytest.raises(KeyError):
                await anext(found)
    assert work.now == 0 and 5 not in work.begun[:3]
