"""The estimate in words: an estimate, two digits, and faster or slower only from 10 % on."""

from __future__ import annotations

import msgspec
import pytest

from tutor.findings.numbers import two_digits
from tutor.ladder.chip_use import by_chip
from tutor.ladder.speed_words import (
    amount,
    duration,
    estimate_figures,
    short_estimate,
    timed_findings,
    timing_lines,
)
from tutor.protocol import Compilation, Reached, Schedule, Timing


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "0"),
        (0.00067, "0.00067"),
        (0.0344, "0.034"),
        (1, "1"),
        (2.46, "2.5"),
        (99.6, "100"),
        (411, "410"),
        (12345, "12000"),
    ],
)
def test_no_exponents(value: float, words: str) -> None:
    assert two_digits(value) == words


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
    figures = estimate_figures(compilation(mine, reference))
    assert figures is not None and words in figures.verdict and figures.names == ["yours", "reference"]
    assert figures.title.startswith("Speed estimate for v5e, case big") and "no TPU used" in figures.title


@pytest.mark.parametrize(
    ("chip", "words"), [("v5e", "within 15 %"), ("v6e", "rough"), ("v4", "not checked"), ("tpu7x", "not checked")]
)
def test_how_far_it_can_be_trusted(chip: str, words: str) -> None:
    figures = estimate_figures(compilation(100.0, None, chip))
    assert figures is not None and words in figures.verdict and figures.names == ["yours"]


def test_without_an_estimate_nothing_is_said() -> None:
    assert estimate_figures(compilation(None, 100.0)) is None and short_estimate([compilation(None, None)]) is None


def test_equal_figures_stand_once() -> None:
    figures = estimate_figures(compilation(100.4, 100.3))
    assert figures is not None and figures.names == ["both"] and all(len(cells) == 1 for _, cells in figures.rows)


def test_every_figure_has_its_line() -> None:
    units = {"VALU": 0.62, "XLU": 0.11, "SALU": 0.05, "VSTORE:SPILL": 0.2, "MATMUL": 0.4, "EUP": 0.3}
    busy = Schedule(174.2, 0.337, "DMA overhead", 3 << 19, 0.123, 0.2, units, ["a note"])
    figures = estimate_figures(Compilation("v5e", "big", "passed", schedule=busy))
    assert figures is not None and figures.notes == ["A note."]
    assert figures.rows == [
        ("total", ["170 µs"]), ("a grid step", ["0.34 µs"]), ("limited by", ["many small copies"]),
        ("read from HBM", ["1.5 MiB"]), ("waiting", ["12 %"]), ("spilled stores", ["20 %"]),
        ("vector unit", ["62 % busy"]), ("matrix unit", ["40 % busy"]), ("exp, log, 1/x", ["30 % busy"]),
    ]  # fmt: skip


def test_short() -> None:
    assert short_estimate([compilation(None, None, "v6e"), compilation(130.0, 100.0)]) == (
        "v5e estimate 130 µs, about 1.3 times slower than the reference"
    )
    assert short_estimate([compilation(174.2, None)]) == "v5e estimate 170 µs"


def test_amounts() -> None:
    assert [amount(n) for n in (5, 2048, 3 << 19, 1234 << 20, 1 << 34)] == [
        "5 bytes", "2 KiB", "1.5 MiB", "1.21 GiB", "16 GiB",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("us", "words"), [(0.3371, "0.34 µs"), (174.2, "170 µs"), (994.0, "990 µs"), (999.0, "1 ms"), (13683.0, "14 ms")]
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
