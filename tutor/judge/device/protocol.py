"""How two programs are timed beside each other: pairs in random order, until the ratio is known well enough."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Sampler = Callable[[int], float]
"""Runs a program once in round `n` and gives its time in microseconds."""

LEAST_ROUNDS = 12
MOST_ROUNDS = 2000
WANTED_WIDTH = 0.02
Z_95 = 1.96


@dataclass(frozen=True)
class Sampled:
    """Medians in microseconds, the median of the paired ratios (attempt / reference), and its 95 % interval."""

    attempt_us: float
    reference_us: float
    ratio: float
    low: float
    high: float
    samples: list[tuple[float, float]]


def interleave(attempt: Sampler, reference: Sampler, *, seed: int, budget_seconds: float) -> Sampled:
    """Time both in pairs, the order in a pair drawn at random, so that drift and caches favour neither.

    Ends when the interval of the ratio is narrower than 2 %, or when the budget is spent."""
    rng = np.random.default_rng(seed)
    samples: list[tuple[float, float]] = []
    end = time.perf_counter() + budget_seconds
    while len(samples) < MOST_ROUNDS:
        number = len(samples)
        if rng.random() < 0.5:
            first = attempt(number)
            samples.append((first, reference(number)))
        else:
            first = reference(number)
            samples.append((attempt(number), first))
        if len(samples) >= LEAST_ROUNDS:
            low, high = median_interval(ratios(samples))
            if high - low < WANTED_WIDTH * ((high + low) / 2) or time.perf_counter() > end:
                break
    times = np.asarray(samples)
    low, high = median_interval(ratios(samples))
    return Sampled(
        attempt_us=float(np.median(times[:, 0])),
        reference_us=float(np.median(times[:, 1])),
        ratio=float(np.median(ratios(samples))),
        low=low,
        high=high,
        samples=samples,
    )


def ratios(samples: list[tuple[float, float]]) -> list[float]:
    """attempt / reference of every pair."""
    return [attempt / reference for attempt, reference in samples]


def median_interval(values: list[float]) -> tuple[float, float]:
    """A 95 % interval of the median from order statistics: it assumes nothing of how the times are spread."""
    ordered = sorted(values)
    count = len(ordered)
    reach = Z_95 * math.sqrt(count) / 2
    low = max(0, math.floor(count / 2 - reach) - 1)
    high = min(count - 1, math.ceil(count / 2 + reach))
    return ordered[low], ordered[high]
