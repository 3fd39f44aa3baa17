"""One fork a run: what it may do, how it ends, and that the server outlives it."""

import asyncio
import os
import signal
import sys
import textwrap
import time
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tutor.ladder.endings import stuck_at, without_last_words
from tutor.ladder.worker import BadAnswer, Worker, WorkerDied
from tutor.protocol import Limits
from tutor.wire import Attempt, Broken, Ended, Loaded, TraceJob
from tutor.workers.confine import Turn, turns
from tutor.workers.forkserver import is_over

FORGERY = """
    from tutor.workers.frames import write_frame
    for descriptor in range(3, 20):
        try:
            write_frame(descriptor, b"rubbish")
        except OSError:
            pass
"""
SERVER = Path(__file__).with_name("misbehave_server.py")
PATIENCE = 60.0
"""Seconds for what takes none on a quiet machine."""


@asynccontextmanager
async def worker():
    server = Worker("misbehave", (sys.executable, "-I", str(SERVER)))
    try:
        yield server
    finally:
        await server.aclose()


def job(code: str, **limits) -> TraceJob:
    source = textwrap.dedent(code).encode()
    return TraceJob(Attempt(source, "attempt.py", "f"), [], limits=Limits(**limits))


async def answers(server: Worker, code: str, **limits) -> list:
    return [answer async for answer in server.run(job(code, **limits))]


async def ending(server: Worker, code: str, **limits) -> Ended:
    return (await answers(server, code, **limits))[-1]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    ("seconds", "queued", "over"), [(9, 0, False), (11, 0, True), (11, 2, False), (30, 15, True), (41, 40, True)]
)
def test_time_in_the_queue_for_a_core_does_not_count(monkeypatch, seconds: float, queued: float, over: bool):
    monkeypatch.setattr("tutor.workers.confine.turns", lambda pid: [Turn(1.0, queued), Turn(0.0, 0.0)])
    assert is_over(Limits(wall_seconds=10), 1, seconds) is over


def test_the_queue_is_read_from_the_kernel():
    assert max(turn.worked for turn in turns(os.getpid())) > 0
    assert turns(2**22 + 1) == []


async def test_a_run_answers_and_prints():
    async with worker() as server:
        got = await answers(server, "send(Loaded([], 1.5)); print('héllo'); print('err', file=sys.stderr)")
        assert got[0] == Loaded([], 1.5)
        assert got[1].how == "done"
        assert got[1].printed.splitlines() == ["héllo", "err"]


@pytest.mark.parametrize(
    ("code", "how", "detail"),
    [
        ("os._exit(3)", "exit", "3"),
        ("os._exit(0)", "done", ""),
        ("os.kill(os.getpid(), 9)", "signal", "SIGKILL"),
        ("import ctypes; ctypes.string_at(0)", "signal", "SIGSEGV"),
        ("sys.exit(5)", "exit", "77"),
        ("while True: pass", "wall", ""),
        ("import time; time.sleep(600)", "wall", ""),
        ("x = bytearray(8 << 30)", "memory", ""),
    ],
)
async def test_how_a_run_ends(code, how, detail):
    async with worker() as server:
        ended = await ending(server, code, wall_seconds=0.5 if how == "wall" else PATIENCE)
        assert (ended.how, ended.detail) == (how, detail)
        assert (await answers(server, "send(Loaded([], 0.0))"))[0] == Loaded([], 0.0), "the server must outlive it"


async def test_a_run_that_works_is_told_from_one_that_waits():
    async with worker() as server:
        worked = await ending(server, "while True: pass", wall_seconds=1.0)
        waited = await ending(server, "import time; time.sleep(60)", wall_seconds=1.0)
        assert worked.busy > 0.5 > 0.1 > waited.busy


async def test_a_run_whose_time_is_over_says_where_it_is():
    async with worker() as server:
        ended = await ending(server, "x = 1\nwhile True:\n    x = -x\n", wall_seconds=1.0)
        assert stuck_at("before\n" + ended.printed, "<string>") in (2, 3)
        assert without_last_words("before\n" + ended.printed) == "before\n"


async def test_memory_that_no_limit_of_the_kernel_counts_is_watched():
    async with worker() as server:
        code = """
            import mmap, time
            shared = mmap.mmap(-1, 1 << 30, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
            shared.write(b'x' * (1 << 29))
            time.sleep(600)
        """
        ended = await ending(server, code, data_bytes=300 << 20, wall_seconds=PATIENCE)
        assert ended.how == "memory"


async def test_an_exception_is_our_fault_with_its_traceback():
    async with worker() as server:
        got = await answers(server, "raise KeyError('oops')")
        assert isinstance(got[0], Broken)
        assert "oops" in got[0].message


async def test_endless_output_is_cut_and_stops_nothing():
    async with worker() as server:
        ended = await ending(server, "while True: print('x' * 1000)", wall_seconds=1.0, output_bytes=10_000)
        assert ended.how == "wall"
        assert len(ended.printed) == 10_000


async def test_endless_answers_are_stopped():
    async with worker() as server:
        got = await answers(server, "while True: send(Loaded([], 0.0))", wall_seconds=PATIENCE, reply_bytes=2000)
        assert got[-1].how == "reply"


async def test_a_forged_answer_is_refused_and_the_server_goes_on():
    async with worker() as server:
        with pytest.raises(BadAnswer):
            await answers(server, FORGERY)
        assert (await ending(server, "pass")).how == "done"


async def test_a_child_sees_no_descriptor_of_the_server_and_has_a_home_of_its_own():
    async with worker() as server:
        code = """
            names = sorted(int(n) for n in os.listdir('/proc/self/fd'))
            print(len([n for n in names if n > 2]))
            print(os.getcwd() == os.environ['HOME'] == os.environ['TMPDIR'])
            print(os.getsid(0) == os.getpid(), sys.stdin.read() == '')
            open('left_behind', 'w').write('x')
            print(os.getcwd())
        """
        ended = await ending(server, code)
        descriptors, home, session, folder = ended.printed.splitlines()
        assert int(descriptors) <= 2, "the reply pipe, and the listing itself"
        assert home == "True"
        assert session == "True True"
        assert not Path(folder).exists(), "the home is removed with the run"


async def test_processes_that_a_run_leaves_behind_are_killed():
    async with worker() as server:
        code = """
            import time
            reads, says = os.pipe()
            for escape in (False, True):
                if os.fork() == 0:
                    if escape:
                        os.setsid()
                    print(os.getpid(), flush=True)
                    os.write(says, b"x")
                    time.sleep(600)
            for _ in range(2):
                os.read(reads, 1)
        """
        ended = await ending(server, code)
        pids = [int(line) for line in ended.printed.split()]
        assert len(pids) == 2
        await ending(server, "pass")
        assert not any(alive(pid) for pid in pids)


async def test_leaving_early_cancels_the_run_and_not_the_server():
    async with worker() as server:
        run = server.run(job("send(Loaded([], float(os.getpid())))\nimport time; time.sleep(600)"))
        first = await anext(run)
        pid = int(first.seconds)
        assert alive(pid)
        await run.aclose()
        await ending(server, "pass")
        assert not alive(pid)


async def test_a_killed_server_says_so_takes_its_runs_with_it_and_comes_back():
    async with worker() as server:
        run = server.run(job("send(Loaded([], float(os.getpid())))\nimport time; time.sleep(600)"))
        pid = int((await anext(run)).seconds)
        os.kill(server._process.pid, signal.SIGKILL)
        with pytest.raises(WorkerDied):
            await anext(run)
        deadline = time.monotonic() + PATIENCE
        while alive(pid) and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        assert not alive(pid), "a run must not outlive its server"
        assert (await ending(server, "pass")).how == "done"


async def test_many_runs_at_once_keep_their_answers_apart():
    async with worker() as server:
        got = await asyncio.gather(*(answers(server, f"send(Loaded([], {n}.0))") for n in range(12)))
        assert [run[0].seconds for run in got] == list(range(12))


async def test_a_server_that_cannot_start_says_why():
    broken = Worker("nothing", (sys.executable, "-c", "import sys; sys.exit('no such thing')"))
    with pytest.raises(WorkerDied) as caught:
        await broken.start()
    assert "no such thing" in caught.value.tail
    await broken.aclose()
