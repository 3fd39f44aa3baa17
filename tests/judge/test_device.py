"""The device runner, exercised on the CPU device through the same path as on a TPU."""

import msgspec

from tutor.ladder.check import Ladder
from tutor.ladder.device import time_on
from tutor.ladder.subject import subject
from tutor.sets import builtin_root, load_set


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


async def test_the_reference_is_as_fast_as_itself(monkeypatch):
    monkeypatch.setattr("tutor.ladder.device.BUDGET_SECONDS", 1.0)
    result, timing = await timed_on_cpu("reference.py")
    assert result.status == "passed", result.findings
    assert timing is not None
    assert (timing.device_kind, timing.chip, timing.case) == ("cpu", None, "default_blocks")
    assert timing.ratio_low <= timing.ratio <= timing.ratio_high
    assert 0.5 < timing.ratio < 2
    assert len(timing.samples) >= 32
    assert all(attempt > 0 and reference > 0 for attempt, reference in timing.samples)
    assert timing.rechecked == 3
    assert timing.work == timing.reference_work != None  # noqa: E711
    assert timing.attempt.roof_share is None, "the roof of this chip is not known"


async def test_wrong_numbers_are_never_timed():
    result, timing = await timed_on_cpu("wrong_flush_never.py")
    assert timing is None
    assert result.status == "failed"
    assert [found.code for found in result.findings] == ["KT701"]
