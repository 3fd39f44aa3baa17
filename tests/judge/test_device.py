"""The device runner, exercised on the CPU device through the same path as on a TPU."""

import msgspec
import numpy as np
import pytest

from tutor.judge.device.protocol import interleave, median_interval
from tutor.ladder.check import Ladder
from tutor.ladder.device import find_device, time_on
from tutor.ladder.subject import subject
from tutor.sets import builtin_root, load_set


def sampler(mean, rng, noise=0.05):
    return lambda number: mean * rng.lognormal(0.0, noise)


@pytest.mark.parametrize("truth", [1.00, 1.10, 2.0])
def test_the_interval_covers_a_known_ratio(truth):
    covered = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        got = interleave(sampler(100 * truth, rng), sampler(100, rng), seed=seed, budget_seconds=10)
        covered += got.low <= truth <= got.high
        assert got.high - got.low < 0.02 * truth * 1.01
    assert covered >= 90, "stopping when the interval is narrow costs a little of its 95 %"


def test_drift_and_spikes_favour_neither():
    rng = np.random.default_rng(1)
    clock = iter(range(10**9))

    def drifting(mean):
        def sample(number):
            stalled = 20 if rng.random() < 0.02 else 1
            return mean * (1 + next(clock) / 500) * stalled * rng.lognormal(0, 0.02)

        return sample

    got = interleave(drifting(150), drifting(100), seed=3, budget_seconds=10)
    assert got.ratio == pytest.approx(1.5, rel=0.03)


def test_a_budget_ends_it():
    rng = np.random.default_rng(0)
    got = interleave(sampler(100, rng, 1.0), sampler(100, rng, 1.0), seed=0, budget_seconds=0)
    assert len(got.samples) == 12


def test_both_orders_are_drawn():
    order = []
    interleave(lambda n: order.append("a") or 1.0, lambda n: order.append("r") or 1.0, seed=0, budget_seconds=1)
    firsts = set(order[::2])
    assert firsts == {"a", "r"}


def test_the_interval_of_few_values_is_their_range():
    assert median_interval([3.0, 1.0, 2.0]) == (1.0, 3.0)


def test_no_device_is_found_in_an_empty_folder_and_one_where_it_is(tmp_path):
    assert find_device(tmp_path) is None
    (tmp_path / "vfio").mkdir()
    (tmp_path / "vfio" / "vfio").touch()
    assert find_device(tmp_path) is None, "the control node alone is no TPU"
    (tmp_path / "vfio" / "0").touch()
    assert find_device(tmp_path) == str(tmp_path / "vfio" / "0")
    (tmp_path / "accel0").touch()
    assert find_device(tmp_path) == str(tmp_path / "accel0")


async def timed_on_cpu(program: str):
    exercise = load_set(builtin_root()).exercise("f32_accumulator")
    path = exercise.solutions / program
    judged = subject(exercise, path.read_bytes(), str(path))
    judged = msgspec.structs.replace(judged, time_case=judged.case("default_blocks"))
    ladder = Ladder()
    try:
        return await time_on(ladder.runs(judged), "cpu")
    finally:
        await ladder.aclose()


async def test_the_reference_is_as_fast_as_itself():
    result, timing = await timed_on_cpu("reference.py")
    assert result.status == "passed"
    assert timing is not None
    assert timing.clock == "wall"
    assert timing.device_kind == "cpu"
    assert timing.ratio_low <= timing.ratio <= timing.ratio_high
    assert 0.5 < timing.ratio < 2
    assert len(timing.samples) >= 12
    assert all(attempt > 0 and reference > 0 for attempt, reference in timing.samples)


async def test_wrong_numbers_are_never_timed():
    result, timing = await timed_on_cpu("wrong_flush_never.py")
    assert timing is None
    assert result.status == "failed"
    assert [found.code for found in result.findings] == ["KT701"]
