"""The estimate in words: an estimate, two digits, and faster or slower only from 10 % on."""

from __future__ import annotations

import msgspec
import pytest

from tutor.ladder.chip_use import by_chip
from tutor.ladder.speed_words import duration, estimate_lines, short_estimate, timed_findings, timing_lines
from tutor.protocol import Compilation, Reached, Schedule, Timing


def schedule(us: float, notes: list[str] | None = None) -> Schedule:
    return Schedule(us, us / 8, "memory", 8 << 20, 0.5, 0.0, {}, notes or [])


def compilation(mine: float | None, reference: float | None, chip: str = "v5e") -> Compilation:
    return Compilation(
        chip, "big", "passed",
        schedule=schedule(mine) if mine is not None else None,
        reference=schedule(reference) if reference is not None else None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("mine", "reference", "words"),
    [
        (109.0, 100.0, "About as fast as the reference."),
        (92.0, 100.0, "About as fast as the reference."),
        (111.0, 100.0, "About 1.1 times slower than the reference."),
        (1000.0, 100.0, "About 10 times slower than the reference."),
        (50.0, 100.0, "About 2 times faster than the reference."),
    ],
)
def test_beside_the_reference(mine: float, reference: float, words: str) -> None:
    text = "\n".join(estimate_lines(compilation(mine, reference)))
    assert words in text and text.startswith("Estimate for v5e, case big") and "no TPU was used" in text


@pytest.mark.parametrize(
    ("chip", "words"), [("v5e", "within 15 %"), ("v6e", "rough"), ("v4", "not checked"), ("tpu7x", "not checked")]
)
def test_how_far_it_can_be_trusted(chip: str, words: str) -> None:
    assert words in "\n".join(estimate_lines(compilation(100.0, None, chip)))


def test_without_an_estimate_nothing_is_said() -> None:
    assert estimate_lines(compilation(None, 100.0)) == [] and short_estimate([compilation(None, None)]) is None


def test_short() -> None:
    assert short_estimate([compilation(None, None, "v6e"), compilation(130.0, 100.0)]) == (
        "estimate for v5e: 1.3x the reference's time"
    )
    assert short_estimate([compilation(174.2, None)]) == "estimate for v5e: 170 µs"


@pytest.mark.parametrize(
    ("us", "words"), [(0.3371, "0.34 µs"), (174.2, "170 µs"), (999.0, "1000 µs"), (13683.0, "14 ms")]
)
def test_two_digits(us: float, words: str) -> None:
    assert duration(us) == words


def test_one_line_a_chip() -> None:
    def one(chip: str, case: str, status: str, vmem: int | None) -> Compilation:
        return Compilation(chip, case, status, vmem)  # type: ignore[arg-type]

    uses = by_chip([one("v5e", "a", "passed", 1), one("v5e", "b", "failed", None), one("v6e", "a", "passed", 7)])
    assert [(u.chip, u.status, u.cases, u.failed, u.largest and u.largest.case) for u in uses] == [
        ("v5e", "failed", 2, ["b"], "a"),
        ("v6e", "passed", 1, [], "a"),
    ]


# ---------------------------------------------------------------- measured times

TIMING = Timing(
    device_kind="TPU v5 lite", attempt_us=50.0, reference_us=40.0, ratio=1.25, ratio_low=1.24, ratio_high=1.26,
    clock="device", samples=[(50.0, 40.0)] * 64, case="big", chip="v5e", attempt_spread=0.02, reference_spread=0.01,
    rechecked=3, inputs="floats are made new", advice="Bigger blocks.",
    attempt=Reached(4.1e11, 9.5e13, 0.5, 25.0), reference=Reached(5.1e11, 1.19e14, 0.62, 25.0),
)  # fmt: skip


def changed(**changes: object) -> Timing:
    return msgspec.structs.replace(TIMING, **changes)


def test_a_measured_time_says_its_clock_its_spread_and_what_was_reached() -> None:
    assert timing_lines(TIMING) == [
        "yours      50 µs ±1.0%, 410 GB/s, 95 TFLOP/s, 50% of what the chip can do",
        "reference  40 µs ±0.5%, 510 GB/s, 119 TFLOP/s, 62% of what the chip can do",
        "ratio 1.25, between 1.24 and 1.26 (95 %), from 64 pairs on TPU v5 lite",
        "times are the device's own, from the profiler",
        "floats are made new; 3 repeats were checked again afterwards",
        "Bigger blocks.",
    ]
    wall = timing_lines(changed(clock="wall", dispatch_us=12.34, attempt=Reached(), attempt_spread=None, advice=None))
    assert wall[0] == "yours      50 µs"
    assert "times are wall times of one call, of which 12.3 µs are the call itself" in wall


def codes(timing: Timing) -> list[tuple[str, str]]:
    return [(found.code, found.severity) for found in timed_findings(timing)]


def test_slower_is_a_warning_from_ten_percent_on() -> None:
    assert codes(TIMING) == [("KT702", "warning")]
    assert codes(changed(ratio_low=1.09)) == []
    assert codes(changed(ratio=0.5, ratio_low=0.4)) == []


def test_a_time_below_the_floor_is_an_error_and_nothing_else_is_said_of_it() -> None:
    fast = changed(attempt_us=20.0)
    assert codes(fast) == [("KT703", "error")]
    (found,) = timed_findings(fast)
    assert "seems to take 20 µs" in found.message and "at least 25 µs" in found.message
    assert codes(changed(attempt_us=24.0, ratio_low=0.5)) == [], "the clock may be off by a little"
    assert codes(changed(attempt_us=20.0, attempt=Reached(), ratio_low=0.5)) == [], "no floor is known"


def test_a_clock_that_is_wrong_for_the_reference_accuses_nobody() -> None:
    assert codes(changed(attempt_us=1.0, reference_us=2.0)) == [("KT708", "note")]


def test_a_call_that_costs_much_is_said() -> None:
    wall = changed(clock="wall", dispatch_us=15.0)
    assert codes(wall) == [("KT702", "warning"), ("KT707", "note")]
    assert codes(changed(clock="wall", dispatch_us=5.0, ratio_low=1.0)) == []
