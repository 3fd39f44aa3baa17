"""Servers in a jail, for tests: which tiers there are here, and what an attempt's own code prints inside of one."""

from __future__ import annotations

import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tutor.ladder.jailed import JailedWorker
from tutor.protocol import Limits
from tutor.wire import Attempt, Ended, TraceJob
from tutor.workers.jail import why_not

HERE = {tier: why_not(tier) for tier in ("A", "B")}
LOCKED = [
    pytest.param(tier, marks=pytest.mark.skipif(HERE[tier] is not None, reason=f"no tier {tier} here: {HERE[tier]}"))
    for tier in ("A", "B")
]
ALL_TIERS = [*LOCKED, "C"]

TRY = """\
import ctypes, os, signal, socket, subprocess, sys, threading, time
from pathlib import Path

def attempt():
{code}

try:
    attempt()
except OSError as error:
    print("refused:", error.strerror)
else:
    print("done")
"""


@asynccontextmanager
async def stage(tier, shown=()) -> AsyncIterator[JailedWorker]:
    """The stage server of the program, in this tier and in no other."""
    worker = JailedWorker("tutor.stage", tier, shown)
    try:
        await worker.start()
        yield worker
    finally:
        await worker.aclose()


async def loads(worker: JailedWorker, source: str, **limits) -> Ended:
    """How a run ends that loads this source as an attempt."""
    attempt = Attempt(source.encode(), "attempt.py", "f")
    answers = [a async for a in worker.run(TraceJob(attempt, [], limits=Limits(**limits)))]
    assert isinstance(answers[-1], Ended)
    return answers[-1]


async def tries(worker: JailedWorker, code: str) -> str:
    """What an attempt says that runs this code when it is loaded: `done`, or `refused:` and why."""
    source = TRY.format(code=textwrap.indent(textwrap.dedent(code).strip(), "    "))
    ended = await loads(worker, source)
    assert ended.how == "done", ended
    return ended.printed.strip()


def processes_below(pid: int) -> list[int]:
    """The processes that a process has started, and those that these have."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [one for child in map(int, children) for one in (child, *processes_below(child))]
