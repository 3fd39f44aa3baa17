"""Does the timing protocol say the truth of real programs? Kernels of known ratio, timed many times on the CPU.

    uv run python benchmarks/timing.py [--runs N] [--budget SECONDS] [--profiler]

The programs do the same step over and over, so that the attempt's number of steps over the reference's is the true
ratio. For each ratio it prints how many of the intervals cover the truth, how wide they are, and how far their middle
is from the truth. With the wall clock the cost of a call is in both times, which pulls a ratio towards 1; so the work
is made long beside it, and what is left is printed as `call`. Run it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Callable
from typing import Any

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np

from tutor.judge.device.contest import ATTEMPT, REFERENCE
from tutor.judge.device.fresh import FreshInputs
from tutor.judge.device.runner import Bench
from tutor.protocol import ArraySpec, CaseSpec, ToleranceSpec

RATIOS = (1.00, 1.10, 2.0)
STEPS = 2000
SHAPE = (8, 128)
CASE = CaseSpec(
    name="steps", inputs=[ArraySpec("x", list(SHAPE), "float32")], outputs=[ArraySpec("out", list(SHAPE), "float32")],
    static={}, sizes={},
)  # fmt: skip
LOOSE = ToleranceSpec(rel_l2=1e-3, elementwise=1e-2)


def program(steps: int, name: str) -> Callable[..., Any]:
    """Comes back to its input after every step of work, so any number of steps gives the same answer."""

    def run(x: Any) -> Any:
        return [jax.lax.fori_loop(0, steps, lambda _, y: jax.numpy.arcsinh(jax.numpy.sinh(y)), x)]

    run.__name__ = name
    return jax.jit(run)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="timings of each ratio")
    parser.add_argument("--budget", type=float, default=3.0, help="seconds that one timing may take")
    parser.add_argument("--profiler", action="store_true", help="the profiler's clock, as on a TPU")
    options = parser.parse_args()
    device = jax.devices("cpu")[0]
    rng = np.random.default_rng(0)
    pool = [[rng.standard_normal(SHAPE).astype(np.float32)] for _ in range(4)]
    reference = program(STEPS, REFERENCE)
    print(f"{'ratio':>6} {'covered':>10} {'width':>8} {'middle off':>11} {'pairs':>6} {'clock':>7} {'call':>6}")
    for ratio in RATIOS:
        attempt = program(round(STEPS * ratio), ATTEMPT)
        covered, widths, off, pairs, clocks, calls = 0, [], [], [], set(), []
        for seed in range(options.runs):
            bench = Bench(
                attempt,
                reference,
                FreshInputs(pool, device, seed),
                device,
                CASE,
                lambda given: [given["x"]],
                LOOSE,
                LOOSE,
            )
            timing = bench.run(options.budget, profiler=options.profiler).timing
            assert timing is not None
            covered += timing.ratio_low <= ratio <= timing.ratio_high
            widths.append((timing.ratio_high - timing.ratio_low) / ratio)
            off.append(timing.ratio / ratio - 1)
            pairs.append(len(timing.samples))
            clocks.add(timing.clock)
            calls.append((timing.dispatch_us or 0.0) / timing.reference_us)
        width, middle, count, call = map(statistics.median, (widths, off, pairs, calls))
        clock = "/".join(sorted(clocks))
        row = f"{ratio:6.2f} {covered:4d} of {options.runs:<3d} {width:8.2%} {middle:+11.2%} {count:6.0f}"
        print(f"{row} {clock:>7} {call:6.1%}")


if __name__ == "__main__":
    main()
