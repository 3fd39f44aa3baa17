"""The device runner, exercised on the CPU device through the same path as on a TPU."""

import msgspec
import pytest

from tests.tui.fakes import FACTS
from tests.unit.test_chip import make_devices, make_process
from tests.unit.test_speed_words import TIMING
from tutor.ladder import chip
from tutor.ladder.check import Ladder
from tutor.ladder.device import device_stage, time_on, with_roof
from tutor.ladder.subject import subject
from tutor.ladder.timed_case import Lowered
from tutor.protocol import CaseSpec, Operations
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


async def stage_on(monkeypatch, dev, proc):
    """The `device` stage on a made-up machine, of which nothing may be timed."""
    found = chip.devices(dev, proc)
    monkeypatch.setattr("tutor.ladder.device.find_device", lambda: chip.find_device(dev))
    monkeypatch.setattr("tutor.ladder.device.devices", lambda: found)
    monkeypatch.setattr("tutor.ladder.device.time_on", None)
    return await device_stage(None)


async def test_without_a_tpu_nothing_is_claimed(monkeypatch, tmp_path):
    result, timing = await stage_on(monkeypatch, tmp_path, tmp_path)
    assert (result.status, result.reason, result.findings, timing) == (
        "unavailable", "no TPU on this machine", [], None,
    )  # fmt: skip


async def test_who_holds_the_tpu_is_named_and_fails_nobody(monkeypatch, tmp_path):
    dev, proc = make_devices(tmp_path / "dev"), tmp_path / "proc"
    make_process(proc, 20, "python3", [dev / "accel0"], ["/usr/bin/python3", "train.py"])
    result, timing = await stage_on(monkeypatch, dev, proc)
    assert result.status == "unavailable" and timing is None
    assert result.reason == "the TPU is held by process 20 (python3 train.py); nothing is timed until it lets go"
    (found,) = result.findings
    assert (found.code, found.severity) == ("KT704", "note")


def test_a_timing_gets_the_roof_of_its_chip():
    work = Operations({"bf16": 197_000_000}, exact=True)
    kernel = msgspec.structs.replace(FACTS.kernels[0], operations=work)
    facts = msgspec.structs.replace(FACTS, kernels=[kernel])
    case = CaseSpec("square", [], list(FACTS.outputs), {}, {})
    program = Lowered({"v5e": b""}, facts, [])
    made = with_roof(TIMING, program, Lowered({}, None, []), case)
    assert (made.chip, made.work.operations) == ("v5e", {"bf16": 197_000_000})
    assert made.attempt.least_us == pytest.approx(1.0)
    assert made.attempt.roof_share == pytest.approx((8388608 + 524288) / 820e9 * 1e6 / TIMING.attempt_us)
    assert made.advice is not None
    assert made.reference_work is None and made.reference.roof_share is None
    unknown = with_roof(msgspec.structs.replace(TIMING, device_kind="cpu"), program, program, case)
    assert unknown.chip is None and unknown.work == made.work
    assert unknown.attempt.roof_share is None and unknown.attempt.flops_per_s == made.attempt.flops_per_s
