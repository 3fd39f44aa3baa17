"""How two programs are timed beside each other: pairs in random order, until the ratio is known well enough."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tutor.judge.device.interval import median_interval

type Pair = tuple[float, float]
"""The times of attempt and reference in one repeat, in microseconds."""

type Measure = Callable[[Sequence[Repeat]], list[Pair]]
"""Times these repeats, in this order."""

FIRST_LOOK = 32
GROWTH = 1.4
MOST_REPEATS = 4000
LOOKS = 15
"""Repeats grow by `GROWTH` from one look at the interval to the next; from the first look to `MOST_REPEATS` there are
this many. Each may stop it, so each is allowed a share of the 5 % only: stopping early costs no certainty."""
MISS = 0.05 / LOOKS
WANTED_WIDTH = 0.02


@dataclass(frozen=True)
class Repeat:
    """One repeat: inputs of its own, and which program goes first."""

    number: int
    attempt_first: bool


@dataclass(frozen=True)
class Sampled:
    """The median of the paired ratios (attempt / reference), its 95 % interval, and the times of every repeat."""

    ratio: float
    low: float
    high: float
    samples: list[Pair]


def compare_times(
    measure: Measure, rng: np.random.Generator, *, budget_seconds: float, now: Callable[[], float] = time.monotonic
) -> Sampled:
    """Time both programs in pairs, the order in each pair drawn at random, so that drift and caches favour neither.

    Ends when the interval of the ratio is narrower than 2 %, or when the budget is spent."""
    samples: list[Pair] = []
    end, wanted = now() + budget_seconds, float(FIRST_LOOK)
    while True:
        first = balanced(rng, max(2, math.ceil(wanted) - len(samples)))
        samples += measure([Repeat(len(samples) + i, one) for i, one in enumerate(first)])
        logs = log_ratios(samples)
        low, high = map(math.exp, median_interval(logs, miss=MISS))
        if high - low < WANTED_WIDTH * (high + low) / 2 or now() > end or len(samples) >= MOST_REPEATS:
            return Sampled(math.exp(float(np.median(logs))), low, high, samples)
        wanted = min(wanted * GROWTH, MOST_REPEATS)


def balanced(rng: np.random.Generator, count: int) -> list[bool]:
    """Who goes first in `count` (or one more) repeats: of every two, each program once, in an order drawn at random."""
    return [bool(one) for drawn in rng.random((count + 1) // 2) < 0.5 for one in (drawn, not drawn)]


def log_ratios(samples: Sequence[Pair]) -> list[float]:
    """One number for each two repeats, in which each program went first once: what going first is worth, and a steady
    drift, cancel."""
    logs = [math.log(attempt / reference) for attempt, reference in samples]
    return [(a + b) / 2 for a, b in zip(logs[::2], logs[1::2], strict=True)]
