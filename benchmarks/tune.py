"""A sweep of block sizes and a run of four kernels for two chips, beside the same compiles one after the other.

    uv run python benchmarks/tune.py [SLUG]

`alone` adds up what each compile took: what a loop over block sizes with one compiler would take, without tracing and
lowering. `Nx` says how many times faster than that the sweep was. The compiler is warm, as it is in the screen.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import time

from tutor.ladder.bench import estimates
from tutor.ladder.check import Ladder
from tutor.ladder.compiler import Compiler
from tutor.ladder.subject import subject
from tutor.ladder.sweep_plan import Wanted
from tutor.ladder.timed_case import integer_values, lowered
from tutor.sets import Exercise, find_set, load_set
from tutor.wire import Broken, Compiled, CompileJob

TARGETS = {"sweep of 32": 10.0, "4 kernels x 2 chips": 2.0}
FOUR = ("read_then_compute", "tile_copy", "row_sums", "f32_accumulator")


class Timed:
    """What each compile of every compiler took, in seconds."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        plain = Compiler.compile

        async def compile(compiler: Compiler, job: CompileJob) -> Compiled | Broken:
            answer = await plain(compiler, job)
            if isinstance(answer, Compiled):
                self.seconds.append(answer.seconds)
            return answer

        Compiler.compile = compile  # type: ignore[method-assign]


async def swept(ladder: Ladder, exercise: Exercise) -> tuple[float, int]:
    """Seconds of one sweep, and how many choices it tried."""
    assert exercise.reference is not None
    began, tried = time.perf_counter(), 0
    async for sweep in ladder.tune(
        exercise, exercise.reference.read_bytes(), exercise.reference, wanted=Wanted(most=32)
    ):
        tried = len(sweep.tried)
    return time.perf_counter() - began, tried


async def estimated(ladder: Ladder, exercises: list[Exercise]) -> float:
    """Seconds until the references of these exercises have their estimates for two chips, from source to figure."""

    async def one(exercise: Exercise) -> None:
        assert exercise.reference is not None
        judged = subject(exercise, exercise.reference.read_bytes(), str(exercise.reference), chips=("v5e", "v6e"))
        runs = ladder.runs(judged)
        values = await integer_values(runs, judged.time_case)
        made = await lowered(runs, judged.attempt, judged.time_case, values)
        found = await estimates(runs, made, judged.attempt, values)
        assert all(schedule is not None for schedule, _ in found.values()), found

    began = time.perf_counter()
    await asyncio.gather(*map(one, exercises))
    return time.perf_counter() - began


async def run(slug: str) -> None:
    """Print the table."""
    timed, ladder, loaded = Timed(), Ladder(), load_set(find_set())
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"{'':<22}{'took':>8}  {'target':>7}  {'alone':>8}  {'':>6}")
    try:
        await ladder.warm()
        took, tried = await swept(ladder, loaded.exercise(slug))
        _row(f"sweep of {tried}, {slug}", took, TARGETS["sweep of 32"], sum(timed.seconds))
        timed.seconds.clear()
        ladder.compiler._known.clear()
        known = {exercise.slug: exercise for exercise in loaded.exercises}
        four = [known[name] for name in FOUR if name in known] or [e for e in loaded.exercises if e.kind == "kernel"][
            :4
        ]
        took = await estimated(ladder, four)
        _row(f"{len(four)} kernels x 2 chips", took, TARGETS["4 kernels x 2 chips"], sum(timed.seconds))
    finally:
        await ladder.aclose()


def _row(name: str, took: float, target: float, alone: float) -> None:
    print(f"{name:<22}{took:>6.2f} s  {target:>5.1f} s  {alone:>6.2f} s  {alone / took:>5.2f}x")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("slug", nargs="?", default="f32_accumulator", help="the exercise whose reference is swept")
    asyncio.run(run(parser.parse_args().slug))


if __name__ == "__main__":
    main()
