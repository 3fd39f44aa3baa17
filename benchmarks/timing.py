"""Does the timing protocol say the truth of real programs? Programs of known ratio, timed many times on the CPU.

    uv run python benchmarks/timing.py [--runs N] [--budget SECONDS] [--clock wall|cpu|profiler] [--ratio R …]

For each ratio it prints how many of the intervals cover the truth, how wide they are, how far their middle is from the
truth, and the load of the machine. What makes the truth known: the reference calls the same compiled piece 10 times,
the attempt 10, 11 or 20 times, each call when the one before is done. So what a call costs is in the ratio as often as
the work. (A loop inside one compiled program would not do: of a call of 10 ms some 70 µs do not grow with the loop, so
a true 2 is 1.993 then, and an interval of 1 % tells these apart.) What is left is what the first piece alone pays
because its inputs are new. That is measured as well, and printed as `once`, a share of the reference's time; at a ratio
of 2 it lowers the middle by a quarter to a half of itself.

The wall clock needs a machine with a free core; `--clock cpu` counts the time that the process had a core, which other
programs disturb less. The profiler sees pieces one by one, so there the loop is inside; it leaves out the call itself.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np

from tutor.judge.device.clock import wall_us
from tutor.judge.device.contest import ATTEMPT, REFERENCE
from tutor.judge.device.fresh import FreshInputs, Poison
from tutor.judge.device.runner import Bench
from tutor.protocol import ArraySpec, CaseSpec, ToleranceSpec

RATIOS = (1.00, 1.10, 2.0)
CALLS, STEPS, STEPS_IN_ONE = 10, 100, 2000
SHAPE = (8, 128)
CASE = CaseSpec(
    name="steps", inputs=[ArraySpec("x", list(SHAPE), "float32")], outputs=[ArraySpec("out", list(SHAPE), "float32")],
    static={}, sizes={},
)  # fmt: skip
LOOSE = ToleranceSpec(rel_l2=1e-3, elementwise=1e-2)

type Program = Callable[..., Any]


def loop(steps: int, name: str) -> Program:
    """Comes back to its input after every step of work, so any number of steps gives the same answer."""

    def run(x: Any) -> Any:
        return [jax.lax.fori_loop(0, steps, lambda _, y: jax.numpy.arcsinh(jax.numpy.sinh(y)), x)]

    run.__name__ = name
    return jax.jit(run)


def repeated(piece: Program, calls: int) -> Program:
    """The piece over and over, each call when the one before is done."""

    def run(x: Any) -> Any:
        outputs = [x]
        for _ in range(calls):
            outputs = jax.block_until_ready(piece(*outputs))
        return outputs

    return run


def process_us(program: Program, inputs: Any) -> tuple[Any, float]:
    """Like `wall_us`, by the time that this process had a core."""
    return wall_us(program, inputs, now=time.process_time)


def once_us(piece: Program, fresh: FreshInputs, times: int = 400) -> float:
    """What the first call on new inputs takes more than the second, as a median."""
    poison = Poison(piece(*fresh.of(0)))
    more = []
    for number in range(times):
        inputs = fresh.of(number)
        poison.spread()
        outputs, first = wall_us(piece, inputs)
        more.append(first - wall_us(piece, outputs)[1])
    return statistics.median(more)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="timings of each ratio")
    parser.add_argument("--budget", type=float, default=3.0, help="seconds that one timing may take")
    parser.add_argument("--clock", choices=["wall", "cpu", "profiler"], default="wall")
    parser.add_argument("--ratio", type=float, action="append", help="only this one; may be repeated")
    options = parser.parse_args()
    device = jax.devices("cpu")[0]
    rng = np.random.default_rng(0)
    pool = [[rng.standard_normal(SHAPE).astype(np.float32)] for _ in range(4)]
    inside = options.clock == "profiler"
    piece = loop(STEPS, "piece")

    def program(ratio: float, name: str) -> Program:
        return loop(round(STEPS_IN_ONE * ratio), name) if inside else repeated(piece, round(CALLS * ratio))

    reference = program(1.0, REFERENCE)
    once = once_us(piece, FreshInputs(pool, device, 0))
    print(" ratio      covered    width  middle off  pairs   clock   once   load")
    for ratio in options.ratio or RATIOS:
        attempt = program(ratio, ATTEMPT)
        covered, widths, off, pairs, clocks, times = 0, [], [], [], set(), []
        for seed in range(options.runs):
            fresh = FreshInputs(pool, device, seed)
            bench = Bench(attempt, reference, fresh, device, CASE, pool[0], LOOSE, LOOSE)
            clock = {"timed": process_us} if options.clock == "cpu" else {}
            timing = bench.run(options.budget, profiler=inside, **clock).timing
            assert timing is not None
            covered += timing.ratio_low <= ratio <= timing.ratio_high
            widths.append((timing.ratio_high - timing.ratio_low) / ratio)
            off.append(timing.ratio / ratio - 1)
            pairs.append(len(timing.samples))
            clocks.add("cpu" if clock else timing.clock)
            times.append(timing.reference_us)
        width, middle, count, us = map(statistics.median, (widths, off, pairs, times))
        row = f"{ratio:6.2f} {covered:5d} of {options.runs:<3d} {width:8.2%} {middle:+11.2%} {count:6.0f}"
        shown = f"{once / us:6.1%}" if not inside else "     -"
        print(f"{row} {'/'.join(sorted(clocks)):>7} {shown} {os.getloadavg()[0]:6.1f}", flush=True)


if __name__ == "__main__":
    main()
