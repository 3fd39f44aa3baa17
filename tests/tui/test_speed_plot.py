"""The plot of speeds: what is in it, where, and what is left out."""

from __future__ import annotations

import math

import pytest

from tests.tui.fakes import speed
from tutor.tui.speed_plot import LABEL, NOT_PASSED, PASSED, REFERENCE, heading, plot, series


def text(*speeds, width=60, height=6):
    return ["".join(words for words, _ in row) for row in plot(series(speeds), width, height)]


def test_measured_times_come_before_estimates() -> None:
    shown = series([speed(1, 50.0, clock="device"), speed(2, 9.0), speed(3, 60.0, clock="device"), speed(4, 8.0)])
    assert [one.attempt_us for one in shown] == [50.0, 60.0]
    assert heading(shown) == "Measured on v5e, case large: 50 µs, now 60 µs, reference 215 µs"


def test_wall_and_device_times_are_never_in_one_plot() -> None:
    assert len(series([speed(1, 50.0, clock="wall"), speed(2, 9.0, clock="device")])) == 1


def test_of_several_chips_the_first_one_of_the_last_attempt() -> None:
    shown = series([speed(1, 50.0), speed(1, 25.0, chip="v6e"), speed(2, 40.0), speed(2, 20.0, chip="v6e")])
    assert [(one.chip, one.attempt_us) for one in shown] == [("v5e", 50.0), ("v5e", 40.0)]


@pytest.mark.parametrize("us", [0.0, -3.0, math.inf, math.nan])
def test_a_time_that_is_none_is_left_out(us: float) -> None:
    assert [one.attempt_us for one in series([speed(1, us), speed(2, 9.0)])] == [9.0]
    assert series([speed(1, us)]) == []
    assert text(speed(1, 5.0, reference_us=us), speed(2, 9.0, reference_us=us))


def test_one_attempt_is_a_line_of_words_and_no_plot() -> None:
    assert heading(series([speed(1, 9.0, reference_us=None, case="")])) == "Estimate for v5e: 9 µs"
    assert text(speed(1, 9.0)) == []
    assert heading([]) == ""


def test_faster_is_lower_and_newer_is_to_the_right() -> None:
    lines = text(speed(1, 1000.0), speed(2, 500.0), speed(3, 100.0, reference_us=100.0))
    assert lines[0].startswith("    1 ms│") and lines[-1].startswith("  100 µs│")
    rows = {n: [i for i, sign in enumerate(line) if sign in (PASSED, NOT_PASSED)] for n, line in enumerate(lines)}
    at = [(column, row) for row, columns in rows.items() for column in columns]
    assert [row for _, row in sorted(at)] == sorted(row for _, row in at) and len(at) == 3
    assert lines[0][sorted(at)[0][0]] == NOT_PASSED and lines[-1][sorted(at)[2][0]] == PASSED
    assert sum(line.count(REFERENCE) for line in lines) == 17, "the last attempt is on its reference"


@pytest.mark.parametrize(("width", "height"), [(20, 2), (9, 6), (1, 3), (200, 10)])
def test_it_fits(width: int, height: int) -> None:
    lines = text(*(speed(n, 100.0 + n) for n in range(300)), width=width, height=height)
    assert len(lines) == height and all(len(line) <= max(width, LABEL + 5) for line in lines)


def test_equal_times_are_a_level_line() -> None:
    lines = text(speed(1, 5.0, reference_us=5.0), speed(2, 5.0, reference_us=5.0))
    assert sum(any(sign in line for sign in (PASSED, NOT_PASSED)) for line in lines) == 1
