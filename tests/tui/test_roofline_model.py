"""Where programs lie under the roof, and the picture of it: figures that are known, and figures that make no sense."""

from __future__ import annotations

import math
from functools import partial

import pytest
from msgspec import structs

from tests.tui.fakes import BETTER, WORK, compiled, speed
from tutor.protocol import Timing, Work
from tutor.roof import roof
from tutor.tui.roofline_model import (
    MOST_EARLIER,
    Frame,
    Roofline,
    bars,
    frame,
    heading,
    legend,
    micros,
    picture,
    point,
    roof_lines,
    rooflines,
    si,
    ticks,
    together,
)

V5E = roof("v5e")
past = partial(speed, passed=True)
SIZES = [(110, 20), (76, 12), (36, 5), (8, 2), (1, 1)]


def one(us: float = 515.0, work: Work | None = WORK, earlier=(), **more: object) -> Roofline:
    (made,) = rooflines([structs.replace(compiled("v5e", us, work=work), **more)], None, earlier)
    return made


def text(of: Roofline, width: int, height: int) -> list[str]:
    return ["".join(words for words, _ in row) for row in picture(of, width, height)]


TIMING = Timing(
    device_kind="TPU v6 lite", attempt_us=300.0, reference_us=250.0, ratio=1.2, ratio_low=1.19, ratio_high=1.21,
    clock="device", samples=[], case="large", chip="v6e", work=WORK, reference_work=BETTER, advice="Words.",
)  # fmt: skip


# ---------------------------------------------------------------- which programs


def test_the_estimate_of_each_chip_is_a_picture() -> None:
    v5e, v6e = rooflines([compiled("v5e", 515.0), compiled("v6e", 255.0, None)])
    assert (v5e.chip, v5e.measured, v6e.chip) == ("v5e", False, "v6e")
    assert heading(v5e) == "v5e: estimate, no TPU; case large"
    assert [p.who for p in v5e.points] == ["yours", "reference"]
    assert [p.who for p in v6e.points] == ["yours"], "without a reference there is none"


def test_what_was_measured_comes_first_and_alone() -> None:
    before = [past(1, 400.0, chip="v6e", clock="device"), past(2, 390.0, chip="v6e"), past(3, 1.0)]
    (made,) = rooflines([compiled("v5e", 515.0)], TIMING, before)
    assert (made.chip, made.measured, made.advice) == ("v6e", True, "Words.")
    assert heading(made) == "v6e: measured; case large"
    assert [(p.sign, p.us) for p in made.points] == [("Y", 300.0), ("R", 250.0), ("1", 400.0)]


@pytest.mark.parametrize("change", [{"device_kind": "TPU v99"}, {"work": None}, {"attempt_us": math.nan}], ids=str)
def test_a_measured_time_that_cannot_be_drawn_leaves_the_estimate(change: dict[str, object]) -> None:
    (made,) = rooflines([compiled("v5e", 515.0)], structs.replace(TIMING, **change))
    assert not made.measured


def test_nothing_to_draw() -> None:
    assert rooflines([]) == []
    assert rooflines([structs.replace(compiled("v5e", 5.0), schedule=None)]) == []
    assert rooflines([compiled("v5e", 5.0, work=None)]) == []
    assert rooflines([compiled("v99", 5.0)]) == []
    assert rooflines([compiled("v5e", us) for us in (0.0, -1.0, math.inf, math.nan)]) == []


def test_earlier_attempts_are_of_the_same_chip_case_and_clock_and_the_last_few() -> None:
    before = [past(n, 1000.0 * 1.1**n) for n in range(20)]
    others = [past(30, 7.0, chip="v6e"), past(31, 7.0, case="small"), past(32, 7.0, clock="device")]
    made = one(earlier=[*before, *others])
    shown = [p for p in made.points if p.who == "earlier"]
    assert [p.sign for p in shown] == ["1", "2", "3", "4", "5", "6"]
    assert [p.us for p in shown] == [1000.0 * 1.1**n for n in range(14, 20)] and len(shown) == MOST_EARLIER


def test_what_did_not_pass_or_is_where_another_is_is_not_shown() -> None:
    same = past(1, 516.0, operations=WORK.operations, moved=WORK.moved)
    twice = past(2, 900.0, moved=5000), past(3, 905.0, moved=5000)
    wrong = past(4, 14.0, passed=False)
    assert [p.us for p in one(earlier=[same, *twice, wrong]).points if p.who == "earlier"] == [905.0]


# ---------------------------------------------------------------- where they lie


def test_a_point_is_operations_a_byte_and_a_second() -> None:
    made = point("yours", V5E, WORK, 515.0)
    assert made is not None
    assert made.unit == "bf16"
    assert made.intensity == pytest.approx(34_359_738_368 / 342_606_336)
    assert made.rate == pytest.approx(34_359_738_368 / 515e-6)
    assert made.bytes_per_s == pytest.approx(342_606_336 / 515e-6)
    assert made.share == pytest.approx(342_606_336 / 820e9 / 515e-6)


def test_the_unit_with_the_most_to_do_places_it() -> None:
    made = point("yours", V5E, structs.replace(WORK, operations={"bf16": 10, "vector": 10**9}), 515.0)
    assert made is not None and made.unit == "vector" and made.rate == pytest.approx(1e9 / 515e-6)
    made = point("yours", V5E, structs.replace(WORK, operations={"bf16": 10**9, "f32": 10**9, "vector": 1}), 515.0)
    assert made is not None and made.unit == "f32" and made.rate == pytest.approx(2e9 / 515e-6)


@pytest.mark.parametrize(
    "work",
    [
        Work({}, 100, 0, True), Work({"bf16": 0}, 100, 0, True), Work({"bf16": 5}, 0, 0, True),
        Work({"bf16": 5}, None, 0, True), Work({"bf16": -5}, -1, 0, True), Work({"no such unit": 7}, None, 0, False),
        Work({}, None, 0, True), Work({}, 0, 0, True),
    ],
    ids=str,
)  # fmt: skip
def test_no_operations_or_no_bytes_is_no_place_but_no_fall(work: Work) -> None:
    made = point("yours", V5E, work, 5.0)
    assert made is not None and made.intensity is None and made.rate is None
    of = one(work=work)
    assert of.only_moves
    for width, height in SIZES:
        assert len(picture(of, width, height)) == max(3, height)
        assert isinstance(bars(of, width), list)
    assert legend(of)[0][0].startswith("Y yours 515 µs")


@pytest.mark.parametrize("us", [0.0, -1.0, math.inf, -math.inf, math.nan])
def test_no_time_is_no_program(us: float) -> None:
    assert point("yours", V5E, WORK, us) is None
    made = one(earlier=[past(1, us)])
    assert [p.who for p in made.points] == ["yours", "reference"]


def test_the_frame_is_logarithmic_and_clamps() -> None:
    box = Frame(100, 40, left=0, right=2, bottom=10, top=14)
    assert (box.x(1), box.x(10), box.x(100)) == (0, 50, 100)
    assert (box.y(1e14), box.y(1e12), box.y(1e10)) == (0, 20, 40)
    assert (box.x(1e-9), box.x(1e9), box.y(1e99), box.y(1.0)) == (0, 100, 0, 40)


def test_everything_is_inside_the_frame() -> None:
    extreme = [past(1, 1e7), past(2, 1e-3, operations={"vector": 10**15}, moved=1)]
    for of in (one(), one(earlier=extreme), one(1e9), one(1e-6)):
        box = frame(of, 60, 20)
        for p in of.placed:
            assert p.intensity is not None and p.rate is not None
            assert 0 < box.x(p.intensity) < 60 and 0 < box.y(p.rate) < 20
        for unit in of.ceilings:
            assert 0 < box.y(of.top.rates[unit]) < 20 and 0 < box.x(of.top.ridge(unit)) < 60


def test_the_roof_is_the_slope_of_the_memory_and_the_ceilings_of_the_units() -> None:
    of = one(work=structs.replace(WORK, operations={"vector": 10**9}))
    assert of.ceilings == ["bf16", "vector"]
    box = frame(of, 600, 200)
    slope, bf16, vector = roof_lines(of, box)
    assert slope[1] == pytest.approx((box.x(V5E.ridge("bf16")), box.y(1.97e14)))
    assert bf16[0] == pytest.approx(slope[1]) and bf16[1] == pytest.approx((600, box.y(1.97e14)))
    assert vector[0] == pytest.approx((box.x(V5E.ridge("vector")), box.y(6.144e12)))
    (x0, y0), (x1, y1) = slope
    per_decade = 600 / (box.right - box.left), 200 / (box.top - box.bottom)
    assert (y0 - y1) / per_decade[1] == pytest.approx((x1 - x0) / per_decade[0]), "as steep as it is wide"


def test_a_program_at_the_roof_lies_on_it_and_a_slower_one_below() -> None:
    work = Work({"bf16": 82 * 10**9}, 82 * 10**8, 0, True)
    of = one(us=10_000.0, work=work)
    box = frame(of, 600, 200)
    (p,) = [p for p in of.placed if p.who == "yours"]
    assert p.intensity == 10 and p.share == pytest.approx(1.0)
    assert p.rate == pytest.approx(V5E.ceiling("bf16", 10))
    slower = point("yours", V5E, work, 20_000.0)
    assert slower is not None and slower.rate is not None and p.rate is not None
    assert box.y(slower.rate) > box.y(p.rate)


@pytest.mark.parametrize(("low", "high", "wanted"), [
    (1.0, 3.0, [10, 100, 1000]), (13.0, 14.1, [1e13, 1e14]), (1.2, 2.9, [20, 50, 100, 200, 500]), (2.31, 2.6, []),
])  # fmt: skip
def test_what_is_written_at_an_axis(low: float, high: float, wanted: list[float]) -> None:
    assert ticks(low, high) == pytest.approx(wanted)


# ---------------------------------------------------------------- the text


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_picture_fits(width: int, height: int) -> None:
    for of in (one(), one(earlier=[past(n, 10.0**n) for n in range(1, 7)])):
        lines = text(of, width, height)
        assert len(lines) == max(3, height)
        assert all(len(line) <= max(width, 14) for line in lines)


def test_the_letters_stand_where_the_programs_lie() -> None:
    of = one(earlier=[past(1, 5000.0, moved=10**10)])
    width, height = 76, 20
    lines = text(of, width, height)
    box = frame(of, width - 6, height - 1)
    for p in of.placed:
        assert p.intensity is not None and p.rate is not None
        assert lines[int(box.y(p.rate))][6 + int(box.x(p.intensity))] == p.sign
    assert "bf16 products" in "\n".join(lines)
    assert lines[0].startswith(" op/s│") and lines[-1].startswith("     └")


def test_programs_in_one_place_are_one_sign_that_is_explained() -> None:
    of = one(us=214.9, work=BETTER)
    assert together(of, 76, 12) == ["R Y"]
    body = "\n".join(text(of, 76, 12))
    assert "&" in body and "Y" not in body


def test_bars_of_bytes_a_second() -> None:
    of = one(us=409.6, work=Work({}, 820 * 2**18, 0, True), reference_work=Work({}, 820 * 10**6 // 10, 0, True))
    rows = ["".join(words for words, _ in row) for row in bars(of, 40)]
    assert rows[0].startswith("Y █") and rows[0].endswith(" 525GB/s") and all(len(row) <= 40 for row in rows)
    assert rows[-1].endswith("820GB/s")
    assert rows[0].count("█") / (rows[0].count("█") + rows[0].count("·")) == pytest.approx(0.64, abs=0.03)
    too_fast = one(us=1.0, work=Work({}, 10**12, 0, True))
    assert "·" not in "".join(words for words, _ in bars(too_fast, 40)[0]), "a bar is never longer than a full one"


def test_the_legend() -> None:
    words = [said for said, _ in legend(one(earlier=[past(1, 1900.0)]))]
    assert words == ["Y yours 515 µs, 81% of the roof", "R reference 215 µs, 81% of the roof", "1 earlier, 1.9 ms"]


@pytest.mark.parametrize(
    ("value", "words"),
    [(1.97e14, "197T"), (8.2e11, "820G"), (0.1, "0.1"), (10, "10"), (1000, "1k"), (999.9, "1k"), (2e15, "2P")],
)
def test_numbers_for_people(value: float, words: str) -> None:
    assert si(value) == words


def test_micros() -> None:
    assert (micros(515.4), micros(1900), micros(0.5)) == ("515 µs", "1.9 ms", "0.5 µs")
