"""The interval of a median that holds for times as they are: skewed, with stalls, and each like the one before."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

LAGS = 20


def median_interval(values: Sequence[float], *, miss: float = 0.05) -> tuple[float, float]:
    """An interval that misses the median with probability `miss`, from order statistics.

    It assumes nothing of how the values are spread. How far it reaches depends on how often the values change sides of
    their median, so values that stay on one side for long (drift, a busy neighbour) give a wider interval."""
    ordered = np.sort(np.asarray(values, float))
    count = len(ordered)
    reach = NormalDist().inv_cdf(1 - miss / 2) * math.sqrt(count * inflation(values)) / 2
    low = max(0, math.floor(count / 2 - reach) - 1)
    high = min(count - 1, math.ceil(count / 2 + reach))
    return float(ordered[low]), float(ordered[high])


def inflation(values: Sequence[float]) -> float:
    """How many times larger the variance of "how many lie below the median" is than for independent values; at least 1.

    One plus twice the autocorrelations of the sides, added up in pairs of lags for as long as a pair is positive (the
    initial positive sequence of Geyer, 1992)."""
    array: Any = np.asarray(values, float)
    sides = np.sign(array - np.median(array))
    variance = float(np.mean(sides * sides))
    count = len(array)
    if count < 8 or variance == 0:
        return 1.0
    most = min(LAGS, count // 4)
    lags = [float(np.dot(sides[k:], sides[: count - k])) / count / variance for k in range(1, most + 1)]
    total = 0.0
    for first, second in zip(lags[::2], lags[1::2], strict=False):
        if first + second <= 0:
            break
        total += first + second
    return max(1.0, 1.0 + 2.0 * total)


def spread(values: Sequence[float]) -> float:
    """The middle half of the values, as a share of their median."""
    low, middle, high = np.percentile(np.asarray(values, float), [25, 50, 75])
    return float((high - low) / middle) if middle > 0 else 0.0
