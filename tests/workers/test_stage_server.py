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


async def test_an_attempt_that_starts_a_backend_starts_it_in_its_own_fork(judged):
    source = b"import jax, jax.numpy as jnp\njnp.zeros(3).block_until_ready()\n" + judged.attempt.source
    attempt = msgspec.structs.replace(judged.attempt, source=source)
    async with server() as worker:
        first = await answers(worker, TraceJob(attempt, judged.cases[:1]))
        assert any(isinstance(one, Loaded) for one in first)
        second = await answers(worker, TraceJob(judged.attempt, judged.cases[:1]))
        assert second[-1].printed.splitlines()[0] == "backends=False threads=1"
