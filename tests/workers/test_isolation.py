"""The tier of a worker is what a run of it has proved, never what was hoped for."""

import asyncio
import os
import socket
import stat
from pathlib import Path

import pytest

from tests.workers.jailed import LOCKED, processes_below, stage, tries
from tutor.ladder import isolation, jailed
from tutor.ladder.check import Ladder
from tutor.ladder.events import CheckFinished
from tutor.ladder.isolation import Isolation, prove, weakest
from tutor.ladder.jailed import JailedWorker, NotIsolated
from tutor.ladder.worker import WorkerDied
from tutor.sets import find_set, load_set
from tutor.wire import Attempt, Denial, Ended, TraceJob
from tutor.workers.jail import jailed_command
from tutor.workers.proof import LAST


@pytest.mark.parametrize("tier", LOCKED)
@pytest.mark.parametrize("module", ["tutor.stage", "tutor.judge", "tutor.judge.compile"])
async def test_every_worker_proves_its_tier(module, tier):
    worker = JailedWorker(module, tier)
    try:
        hello = await worker.start()
        assert hello.isolation == worker.isolation.tier == tier
        assert len(worker.isolation.denials) == 14
        assert worker.isolation.allowed == []
    finally:
        await worker.aclose()


async def test_a_worker_without_a_jail_proves_that_the_proof_can_fail():
    async with stage("C") as worker:
        assert worker.isolation.tier == "C"
        assert len(worker.isolation.allowed) == 14, "whatever is tried works where nothing stops it"


@pytest.mark.parametrize("tier", LOCKED)
async def test_a_tier_that_does_not_hold_is_not_taken(tier, monkeypatch):
    """The server is started as if in this tier, or in a better one, but its runs lock nothing."""

    def leaky(asked, module, view, environment):
        return jailed_command("C" if asked <= tier else asked, module, view, environment)

    monkeypatch.setattr(jailed, "jailed_command", leaky)
    worker = JailedWorker("tutor.stage")
    try:
        hello = await worker.start()
        assert hello.isolation > tier
        [reason] = [one for one in worker.isolation.why_not_better if one.startswith(f"tier {tier}: ")]
        assert "a run could read a file outside, " in reason
        assert "start a program" in reason
    finally:
        await worker.aclose()
    with pytest.raises(NotIsolated) as refused:
        await JailedWorker("tutor.stage", tier).start()
    assert "a run could" in refused.value.tail


async def test_bubblewrap_that_is_not_allowed_here_is_named(tmp_path, monkeypatch):
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    worker = JailedWorker("tutor.stage")
    try:
        assert (await worker.start()).isolation != "A"
        assert "No permissions to create new namespace" in worker.isolation.why_not_better[0]
    finally:
        await worker.aclose()


async def test_the_tier_can_be_asked_for(monkeypatch):
    monkeypatch.setenv("KERNELTUTOR_ISOLATION", "C")
    ladder = Ladder()
    try:
        proved = await ladder.isolation()
        assert proved.tier == "C"
        assert "read a file outside" in proved.allowed
    finally:
        await ladder.aclose()


async def test_a_run_that_says_that_it_was_denied_is_not_believed_where_the_tutor_saw_otherwise():
    async def liar(job):
        with socket.create_connection(("127.0.0.1", job.tcp)):
            pass
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"x", ("127.0.0.1", job.udp))
        Path(job.folder, "new").touch()
        for what in ("open a TCP connection", "send over UDP", "write outside the run's own folder", LAST):
            yield Denial(what, True, "honestly")
        yield Ended(1, "done")

    assert {one.what for one in await prove(liar) if not one.denied} == {
        "open a TCP connection",
        "send over UDP",
        "write outside the run's own folder",
    }


async def test_a_run_that_ends_half_way_proves_nothing():
    async def silent(job):
        yield Denial("read a file outside", True, "no")
        yield Ended(1, "signal", "SIGKILL")

    denials = await prove(silent)
    assert (denials[-1].what, denials[-1].denied) == (LAST, False)
    assert "SIGKILL" in denials[-1].detail


def test_several_workers_are_as_strong_as_the_weakest():
    a, b = Isolation("A"), Isolation("B", [], ["tier A: no"])
    assert weakest([a, b]) == b
    assert weakest([a, None]).tier == "C"
    assert weakest([]).tier == "C"


@pytest.mark.parametrize("tier", LOCKED)
async def test_a_set_inside_what_may_be_read_stays_hidden(tier, tmp_path, monkeypatch):
    """As in a wheel, where the built-in set stands inside our package."""
    for name in ("open.txt", "builtin/solutions/reference.py", "beside/open.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("secret")
    monkeypatch.setattr(jailed, "secret_folders", lambda: [tmp_path / "builtin"])
    async with stage(tier, [tmp_path]) as worker:
        for shown in ("open.txt", "beside/open.txt"):
            assert await tries(worker, f"Path({str(tmp_path / shown)!r}).read_text()") == "done"
        hidden = str(tmp_path / "builtin/solutions/reference.py")
        assert (await tries(worker, f"Path({hidden!r}).read_text()")).startswith("refused:")
        assert (await tries(worker, f"Path({str(tmp_path)!r}, 'new').write_text('x')")).startswith("refused:")


async def test_where_nothing_can_be_laid_out_nothing_is_proved(monkeypatch):
    def full(**_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(isolation.tempfile, "TemporaryDirectory", full)
    worker = JailedWorker("tutor.stage")
    try:
        assert (await worker.start()).isolation == "C"
        assert all("No space left" in reason for reason in worker.isolation.why_not_better)
    finally:
        await worker.aclose()


@pytest.mark.parametrize("tier", LOCKED)
async def test_a_killed_server_leaves_nothing_behind(tier):
    async with stage(tier) as worker:
        idle = len(processes_below(worker._process.pid))
        assert idle >= (0 if tier == "B" else 1), "in tier A the server stands below bubblewrap"
        run = worker.run(TraceJob(Attempt(b"import time; time.sleep(600)", "a.py", "f"), []))
        waiting = asyncio.create_task(anext(run))
        while len(processes_below(worker._process.pid)) <= idle:
            assert not waiting.done(), await waiting
            await asyncio.sleep(0.02)
        below = [worker._process.pid, *processes_below(worker._process.pid)]
        worker.kill()
        with pytest.raises(WorkerDied):
            await waiting
        for _ in range(1200):
            if not any(Path(f"/proc/{pid}").exists() for pid in below[1:]):
                break
            await asyncio.sleep(0.05)
        assert not any(Path(f"/proc/{pid}").exists() for pid in below[1:])
        assert (await worker.start()).isolation == tier


async def test_a_check_says_that_the_tier_it_needs_cannot_be_had(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    exercise = load_set(find_set()).exercise("tile_copy")
    ladder = Ladder(isolation="A")
    try:
        checked = ladder.check(exercise, exercise.reference.read_bytes(), "a.py", target="load")
        [verdict] = [event.verdict async for event in checked if isinstance(event, CheckFinished)]
    finally:
        await ladder.aclose()
    [found] = verdict.stages[0].findings
    assert (verdict.stages[0].status, found.code) == ("error", "KT816")
    assert "bubblewrap is not installed" in found.raw
