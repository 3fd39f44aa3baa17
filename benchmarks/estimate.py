"""The speed estimate beside published device times of a v5e: `benchmarks/timing_points.csv`, all of it.

    uv run python benchmarks/estimate.py [--every N] [--points]

Every kernel is rebuilt, lowered and compiled without a TPU, its schedule is read, and the estimate is divided by the
time that others measured. Pairs are two kernels of one table whose measured times differ by 5 % or more: in order if
the estimate says the same one is faster. Nothing is fitted here; the constants stand in
`judge/compile/schedule/model.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the kernels are those of the tests

from tests.judge.compiling import job
from tests.judge.published import Point, published
from tutor.ladder.compiler import Compiler
from tutor.ladder.worker import Worker
from tutor.wire import Compiled, CompileJob

MEDIAN, ORDER = 0.03, 0.97
"""The targets: the median ratio within 3 % of 1, and 97 % of the pairs in order."""


async def estimates(points: Sequence[Point]) -> list[float]:
    """Estimated microseconds of each point. The next kernel is exported while one compiles."""
    stage, compiler = Worker("tutor.stage"), Compiler(wall_seconds=120)
    asked: asyncio.Queue[CompileJob | None] = asyncio.Queue(maxsize=2)

    async def export() -> None:
        for point in points:
            static = dict(zip(("bm", "bn", "bk"), point.blocks, strict=False))
            (one,) = await job(stage, point.kernel, ["v5e"], estimate=True, **static)
            await asked.put(one)
        await asked.put(None)

    found: list[float] = []
    exporting = asyncio.create_task(export())
    try:
        while (one := await asked.get()) is not None:
            answer = await compiler.compile(one)
            assert isinstance(answer, Compiled) and answer.compilation.schedule, answer
            found.append(answer.compilation.schedule.total_us)
            print(f"\r{len(found)} of {len(points)}", end="", file=sys.stderr, flush=True)
        await exporting
    finally:
        exporting.cancel()
        print("\r", end="", file=sys.stderr)
        await asyncio.gather(stage.aclose(), compiler.aclose())
    return found


def in_order(points: Sequence[Point], found: Sequence[float]) -> tuple[int, int]:
    """How many pairs are in order, and how many there are."""
    good = total = 0
    for (one, mine), (other, others) in combinations(zip(points, found, strict=True), 2):
        if one.kernel == other.kernel and max(one.us, other.us) >= 1.05 * min(one.us, other.us):
            total += 1
            good += (mine < others) == (one.us < other.us)
    return good, total


def line(name: str, points: Sequence[Point], found: Sequence[float]) -> str:
    """One row of the table."""
    ratios = sorted(us / point.us for point, us in zip(points, found, strict=True))
    within = [sum(abs(ratio - 1) <= most for ratio in ratios) / len(ratios) for most in (0.05, 0.10, 0.15)]
    good, total = in_order(points, found)
    shares = "  ".join(f"{share:6.1%}" for share in within)
    median, low, high = statistics.median(ratios), ratios[0], ratios[-1]
    order = f"{good} of {total} ({good / total:.1%})" if total else "-"
    return f"{name:<8} {len(points):>6}  {median:6.3f}  {low:.2f} to {high:.2f}  {shares}  {order}"


def main() -> int:
    """Print the table; the answer is 0 if both targets are met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth point")
    parser.add_argument("--points", action="store_true", help="print each point as well")
    asked = parser.parse_args()
    points = published()[:: asked.every]
    found = asyncio.run(estimates(points))
    if asked.points:
        for point, us in zip(points, found, strict=True):
            blocks = "x".join(map(str, point.blocks))
            print(f"{point.kernel:<8} {blocks:<16} {point.us:>9.1f} {us:>9.1f} {us / point.us:6.3f}")
    print(f"{'kernel':<8} {'points':>6}  median  range         {'5 %':>6}  {'10 %':>6}  {'15 %':>6}  pairs in order")
    for kernel in dict.fromkeys(point.kernel for point in points):
        some = [(point, us) for point, us in zip(points, found, strict=True) if point.kernel == kernel]
        print(line(kernel, [point for point, _ in some], [us for _, us in some]))
    print(line("all", points, found))
    print(f"target           {1 - MEDIAN:.2f} to {1 + MEDIAN:.2f}{'':>42}  {ORDER:.0%}")
    median = statistics.median(us / point.us for point, us in zip(points, found, strict=True))
    good, total = in_order(points, found)
    return 0 if abs(median - 1) <= MEDIAN and good >= ORDER * total else 1


if __name__ == "__main__":
    sys.exit(main())
