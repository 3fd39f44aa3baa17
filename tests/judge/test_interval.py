"""The interval of a ratio: what the timing protocol says of two programs whose ratio is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.judge.noisy_clock import Noise, NoisyMachine
from tutor.judge.device.interval import inflation, median_interval, spread
from tutor.judge.device.protocol import FIRST_LOOK, MOST_REPEATS, balanced, compare_times

FOR_EVER = 1e9


def timed(machine, seed, budget=FOR_EVER, **more):
    return compare_times(machine.measure, np.random.default_rng(seed), budget_seconds=budget, **more)


@pytest.mark.parametrize("truth", [1.00, 1.10, 2.0])
@pytest.mark.parametrize(
    "noise",
    [Noise(), Noise(own=0.005, load=0.05), Noise(own=0.02, own_stays=0.8)],
    ids=["usual", "steady programs on a busy machine", "each time like the one before"],
)
def test_the_interval_covers_a_known_ratio(truth, noise):
    covered = 0
    for seed in range(100):
        got = timed(NoisyMachine(truth, np.random.default_rng(seed), noise), seed + 1000)
        covered += got.low <= truth <= got.high
        assert got.low <= got.ratio <= got.high
        narrow = got.high - got.low < 0.02 * (got.high + got.low) / 2
        assert narrow or len(got.samples) >= MOST_REPEATS
    assert covered >= 95


def test_the_interval_can_miss():
    """The twin of the test above: of the same machine, an interval that is too bold covers too little."""
    covered = 0
    for seed in range(100):
        got = timed(NoisyMachine(1.1, np.random.default_rng(seed)), seed + 1000)
        logs = [math.log(a / b) for a, b in got.samples]
        low, high = median_interval(logs[:FIRST_LOOK], miss=0.8)
        covered += low <= math.log(1.1) <= high
    assert covered < 60


def test_what_a_call_costs_is_in_the_ratio():
    """Why a loop twice as long is not a program of ratio 2 (`benchmarks/timing.py`): the interval is right about the
    calls, and so it tells their ratio from the programs'."""
    noise = Noise(own=0.01, stalls=0.01, call=5.0)
    made = [timed(NoisyMachine(2.0, np.random.default_rng(seed), noise), seed + 1000) for seed in range(30)]
    assert sum(got.low <= 205 / 105 <= got.high for got in made) >= 28
    assert sum(got.low <= 2.0 <= got.high for got in made) < 5


def test_who_goes_first_is_worth_nothing():
    got = timed(NoisyMachine(1.0, np.random.default_rng(0), Noise(second=0.3)), 1)
    assert got.low < 1 < got.high


def test_each_goes_first_as_often_in_an_order_that_cannot_be_foreseen():
    orders = {tuple(balanced(np.random.default_rng(seed), 8)) for seed in range(40)}
    assert len(orders) > 10
    assert all(sum(order[i : i + 2]) == 1 for order in orders for i in range(0, 8, 2))
    assert len(balanced(np.random.default_rng(0), 7)) == 8


def test_a_budget_ends_it():
    machine = NoisyMachine(1.0, np.random.default_rng(0), Noise(own=1.0))
    clock = iter([0.0, 0.5, 1.0, 1.5, 2.0, 2.5])
    got = timed(machine, 0, budget=1.2, now=lambda: next(clock))
    assert len(got.samples) > FIRST_LOOK
    assert got.high - got.low > 0.02, "it was ended by the budget, and says how little it knows"
    assert next(clock) == 2.0


def test_repeats_are_numbered_once():
    seen = []

    def measure(repeats):
        seen.extend(repeat.number for repeat in repeats)
        return [(1.0, 1.0 + 0.5 * (repeat.number % 3)) for repeat in repeats]

    compare_times(measure, np.random.default_rng(0), budget_seconds=0)
    assert seen == list(range(FIRST_LOOK))


def test_values_that_stay_on_one_side_widen_the_interval():
    rng = np.random.default_rng(0)
    alone = rng.normal(size=400)
    slow = np.repeat(rng.normal(size=20), 20)
    assert inflation(alone) < 1.5
    assert inflation(slow) > 5
    narrow, wide = median_interval(alone), median_interval(slow)
    assert wide[1] - wide[0] > narrow[1] - narrow[0]


def test_few_or_equal_values():
    assert median_interval([3.0, 1.0, 2.0]) == (1.0, 3.0)
    assert median_interval([5.0] * 50) == (5.0, 5.0)
    assert inflation([1.0] * 100) == 1.0
    assert spread([1.0, 1.0, 1.0]) == 0.0
    assert spread([0.0, 0.0, 0.0]) == 0.0
