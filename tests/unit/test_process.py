"""A program that nobody waits for any more ends, and is not waited for, whoever holds its pipes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import Iterator
from pathlib import Path

import pytest

from tutor.ladder.process import end, start

# Starts a program that keeps its pipes open, writes the numbers of both, and sleeps.
LEAVES_A_CHILD = """
import os, pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
left = pathlib.Path(sys.argv[1])
left.with_suffix(".new").write_text(f"{os.getpid()} {child.pid}")
left.with_suffix(".new").rename(left)
time.sleep(600)
"""


@pytest.fixture
def left(tmp_path: Path) -> Iterator[Path]:
    """Where the program writes what it started; that is killed in the end."""
    path = tmp_path / "left"
    yield path
    if path.exists():
        for pid in map(int, path.read_text().split()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()


async def _begun(left: Path) -> tuple[int, int]:
    while not left.exists():
        await asyncio.sleep(0.01)
    parent, child = map(int, left.read_text().split())
    return parent, child


async def test_it_ends_although_a_child_of_it_holds_its_pipes(left: Path) -> None:
    process = await start(sys.executable, "-c", LEAVES_A_CHILD, str(left), env=os.environ)
    parent, child = await _begun(left)
    await asyncio.wait_for(end(process), 60)
    assert not _alive(parent) and _alive(child)


async def test_one_that_ends_by_itself_is_given_the_time() -> None:
    process = await start(sys.executable, "-c", "import sys; sys.stdin.read(); sys.exit(7)", env=os.environ)
    assert process.stdin is not None
    process.stdin.close()
    await end(process, grace=60)
    assert process.returncode == 7


async def test_a_start_that_is_cancelled_ends_the_program(left: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait of asyncio itself would go on as long as the pipes are open."""
    opened = asyncio.create_subprocess_exec
    made: list[Process] = []
    may_go_on = asyncio.Event()

    async def slowly(*command: str, **options: object) -> Process:
        process = await opened(*command, **options)  # type: ignore[arg-type]
        made.append(process)
        await may_go_on.wait()
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", slowly)
    starting = asyncio.create_task(start(sys.executable, "-c", LEAVES_A_CHILD, str(left), env=os.environ))
    parent, _ = await _begun(left)
    starting.cancel()
    await asyncio.sleep(0)
    may_go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(starting, 60)
    assert made[0].returncode is not None and not _alive(parent)


@pytest.mark.parametrize("steps", range(8))
async def test_a_start_may_be_cancelled_at_any_moment(steps: int) -> None:
    starting = asyncio.create_task(start(sys.executable, "-c", "import time; time.sleep(600)", env=os.environ))
    for _ in range(steps):
        await asyncio.sleep(0)
    starting.cancel()
    done, _ = await asyncio.wait([starting], timeout=60)
    assert (done and starting.cancelled()) or (await starting).returncode is None
