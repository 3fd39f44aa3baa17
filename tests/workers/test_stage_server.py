"""The stage server stays clean: whatever its forks do, it starts no backend and no thread of its own."""

import sys
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import msgspec
import numpy as np
import pytest

from tutor.ladder.subject import Subject, subject
from tutor.ladder.worker import Worker
from tutor.sets import find_set, load_set
from tutor.wire import Artifact, ArtifactJob, Ended, HazardJob, Loaded, Simulated, Traced, TraceJob
from tutor.workers.arrays import pack

SERVER = Path(__file__).with_name("watched_stage_server.py")


@asynccontextmanager
async def server(*arguments: str):
    worker = Worker("tutor.stage", (sys.executable, "-I", str(SERVER), *arguments))
    try:
        yield worker
    finally:
        await worker.aclose()


@pytest.fixture(scope="module")
def judged() -> Subject:
    """The reference of an exercise with a copy and an integer table."""
    exercise = load_set(find_set()).exercise("any_sync_copy")
    return subject(exercise, exercise.reference.read_bytes(), "reference.py")


def inputs_of(judged: Subject) -> bytes:
    """Inputs of the first case: zeros, so that every page number is in range."""
    return pack({spec.name: np.zeros(spec.shape, spec.dtype) for spec in judged.cases[0].inputs})


async def answers(worker: Worker, job) -> list:
    return [answer async for answer in worker.run(job)]


async def test_no_run_leaves_a_backend_or_a_thread_in_the_server(judged):
    case = judged.cases[0]
    jobs = [
        (TraceJob(judged.attempt, judged.cases), Traced),
        (ArtifactJob(judged.attempt, [case], ["cpu", "tpu"]), Artifact),
        (HazardJob(judged.attempt, case, "on_wait", inputs_of(judged)), Simulated),
        (TraceJob(judged.attempt, judged.cases), Traced),
    ]
    async with server() as worker:
        for job, answer in jobs:
            got = await answers(worker, job)
            assert any(isinstance(one, answer) for one in got), got
            ended = got[-1]
            assert isinstance(ended, Ended)
            assert ended.how == "done"
            assert ended.printed.splitlines()[0] == "backends=False threads=1"


async def test_the_window_sees_a_backend_where_there_is_one(judged):
    async with server("dirty") as worker, aclosing(worker.run(TraceJob(judged.attempt, judged.cases[:1]))) as run:
        async for answer in run:
            if isinstance(answer, Ended):
                state = answer.printed.splitlines()[0]
    assert state.startswith("backends=True")
    assert state != "backends=True threads=1"


SEARCH = r"""
import re
own = "grapefruit"
def found(pattern):
    count = 0
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for line in maps:
            where, mode = line.split()[:2]
            begin, end = (int(part, 16) for part in where.split("-"))
            if mode.startswith("rw") and end - begin < 1 << 28:
                memory.seek(begin)
                try:
                    count += len(re.findall(pattern, memory.read(end - begin)))
                except OSError:
                    pass
    return count
print(found(rb"zwetsch[g]enmus"), found(rb"grape[f]ruit") > 0)
"""
"""Looks for words in its own memory without writing them as they are looked for."""


async def test_a_run_finds_nothing_of_other_runs_in_its_memory(judged):
    """Every run is a copy of its server: what the server has held, a hostile attempt could search for. Solutions go
    through the same server, to be compared with."""
    secret = judged.attempt.source + b"# zwetschgenmus\nimport jax\nraise RuntimeError('zwetschgenmus' * 1000)\n"
    async with server() as worker:
        for _ in range(3):
            attempt = msgspec.structs.replace(judged.attempt, source=secret)
            said = await answers(worker, TraceJob(attempt, judged.cases[:1]))
            assert any(
                "zwetschgenmus" in found.message for one in said if isinstance(one, Loaded) for found in one.findings
            )
        searching = msgspec.structs.replace(judged.attempt, source=SEARCH.encode())
        ended = (await answers(worker, TraceJob(searching, judged.cases[:1])))[-1]
    assert ended.printed.splitlines()[1] == "0 True"


async def test_an_attempt_that_starts_a_backend_starts_it_in_its_own_fork(judged):
    source = b"import jax, jax.numpy as jnp\njnp.zeros(3).block_until_ready()\n" + judged.attempt.source
    attempt = msgspec.structs.replace(judged.attempt, source=source)
    async with server() as worker:
        first = await answers(worker, TraceJob(attempt, judged.cases[:1]))
        assert any(isinstance(one, Loaded) for one in first)
        second = await answers(worker, TraceJob(judged.attempt, judged.cases[:1]))
        assert second[-1].printed.splitlines()[0] == "backends=False threads=1"
