"""From save to verdict, warm, beside a cold `python attempt.py` of the same work.

    uv run python benchmarks/ladder.py [--runs N] [SLUG …]

The cold script is what a learner without the tutor runs: it imports JAX, calls the attempt in interpret mode on every
case and seed, and compares with the oracle. Nothing of it simulates TPU memory or lowers for TPU, which the whole
ladder does as well. Every figure is a median; `Nx` says how many times faster than the cold script it is.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec

from tutor.ladder.check import Ladder
from tutor.ladder.events import CheckFinished, KernelsTraced, StageFinished
from tutor.ladder.jailed import JailedWorker
from tutor.ladder.subject import Subject, subject
from tutor.sets import Exercise, find_set, load_set
from tutor.wire import Body, Ended, InterpretJob, Job, Judged

TARGETS = {"marked jaxpr": 0.1, "first case": 0.7, "whole ladder": 2.5}
MILESTONES = ("marked jaxpr", "first case", "interpret", "whole ladder")

COLD = """
import functools, runpy, sys
from types import SimpleNamespace
import jax, numpy as np
from jax.experimental import pallas as pl

pl.pallas_call = functools.partial(pl.pallas_call, interpret=True)
device = jax.sharding.AbstractDevice(device_kind="TPU v5 lite", num_cores=1, platform="tpu")
entry = runpy.run_path({attempt!r})[{entry!r}]
oracle = runpy.run_path({oracle!r})
for spec, seeds in {cases!r}:
    case = SimpleNamespace(**spec | {{key: [SimpleNamespace(**a) for a in spec[key]] for key in ("inputs", "outputs")}})
    inputs = [array.name for array in case.inputs]
    run = jax.jit(functools.partial(entry, **case.static))
    for seed in seeds:
        arrays = oracle["make_inputs"](np.random.default_rng(seed), case)
        with jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((), (), abstract_device=device)):
            got = jax.tree.leaves(run(*(arrays[name] for name in inputs)))
        wanted = jax.tree.leaves(oracle["expected"](arrays, case))
        for one, want in zip(got, wanted, strict=True):
            one, want = np.asarray(one, np.float64), np.asarray(want, np.float64)
            error = np.linalg.norm(one - want) / (np.linalg.norm(want) or 1)
            print(case.name, seed, error)
            assert error < 4e-3
"""


class Watched(JailedWorker):
    """The judge, with a note of when it first judged a case of `interpret`. The stage itself ends with its last one."""

    first: float | None = None

    async def run(self, job: Job) -> AsyncIterator[Body | Ended]:
        async for answer in super().run(job):
            if self.first is None and isinstance(job, InterpretJob) and isinstance(answer, Judged):
                self.first = time.perf_counter()
            yield answer


async def warm_run(ladder: Ladder, judge: Watched, exercise: Exercise, source: bytes) -> dict[str, float]:
    """Seconds from one save to each milestone."""
    times: dict[str, float] = {}
    judge.first = None
    began = time.perf_counter()
    async for event in ladder.check(exercise, source, "attempt.py"):
        now = time.perf_counter() - began
        if isinstance(event, KernelsTraced):
            times["marked jaxpr"] = now
        elif isinstance(event, StageFinished) and event.result.name == "interpret":
            times["interpret"] = now
        elif isinstance(event, CheckFinished):
            times["whole ladder"] = now
            assert event.verdict.passed, f"{exercise.slug}: the reference does not pass"
    assert judge.first is not None
    times["first case"] = judge.first - began
    return times


async def warm(exercise: Exercise, runs: int) -> dict[str, float]:
    """Medians over `runs` saves, each of another text; the first save after the start is left out."""
    ladder = Ladder()
    judge = Watched("tutor.judge")
    ladder.judge = judge
    assert exercise.reference is not None
    source = exercise.reference.read_bytes()
    try:
        await ladder.warm()
        taken = [await warm_run(ladder, judge, exercise, source + b"# %d\n" % number) for number in range(runs + 1)]
    finally:
        await ladder.aclose()
    return {name: statistics.median(one[name] for one in taken[1:]) for name in MILESTONES}


def cold(judged: Subject, runs: int) -> float:
    """The median of `runs` cold scripts, in seconds."""
    cases = [(msgspec.to_builtins(case), judged.seeds(case)) for case in judged.cases]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}  # else JAX spends seconds on looking for a TPU
    with tempfile.TemporaryDirectory() as folder:
        attempt, script = Path(folder) / "attempt.py", Path(folder) / "cold.py"
        attempt.write_bytes(judged.attempt.source)
        script.write_text(
            COLD.format(attempt=str(attempt), entry=judged.attempt.entry, oracle=judged.oracle.path, cases=cases)
        )
        taken = []
        for _ in range(runs):
            began = time.perf_counter()
            subprocess.run([sys.executable, script], check=True, capture_output=True, env=environment)
            taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("slugs", nargs="*", help="which exercises; all that have a kernel by default")
    parser.add_argument("--runs", type=int, default=5, help="how many runs each median is of")
    asked = parser.parse_args()
    loaded = load_set(find_set())
    exercises = [loaded.exercise(slug) for slug in asked.slugs] or [
        exercise for exercise in loaded.exercises if exercise.kind == "kernel"
    ]
    columns = ("exercise", "cold script", *MILESTONES)
    print("".join(name.ljust(18) for name in columns).rstrip())
    for exercise in exercises:
        assert exercise.reference is not None
        judged = subject(exercise, exercise.reference.read_bytes(), "attempt.py")
        assert judged.oracle is not None
        whole = cold(judged, asked.runs)
        times = asyncio.run(warm(exercise, asked.runs))
        cells = [f"{times[name]:.3f} s {whole / times[name]:5.1f}x" for name in MILESTONES]
        print("".join(cell.ljust(18) for cell in (exercise.slug, f"{whole:.3f} s", *cells)).rstrip())
    targets = [f"{TARGETS[name]:.3f} s" if name in TARGETS else "" for name in MILESTONES]
    print("".join(cell.ljust(18) for cell in ("target", "", *targets)).rstrip())


if __name__ == "__main__":
    main()
