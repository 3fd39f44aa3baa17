"""The roofline on the page: what is drawn, where, and that no text of it can be markup."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from tests.cli.test_page import CONTROLS, HOSTILE, KERNEL, MARKS, SOURCE, Read
from tests.tui.fakes import BETTER, compiled, speed
from tutor.cli.page import page
from tutor.cli.roofline_drawing import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, drawing
from tutor.protocol import Work
from tutor.tui.roofline_model import Roofline, rooflines


def one(us: float = 515.0, earlier=(), **more: object) -> Roofline:
    (made,) = rooflines([msgspec.structs.replace(compiled("v5e", us), **more)], None, earlier)
    return made


def shown(*roofs: Roofline) -> str:
    return page("Read once", "attempt.py", SOURCE, [KERNEL], MARKS, (), roofs)


def test_a_picture_for_each_chip_with_its_words() -> None:
    text = shown(*rooflines([compiled("v5e", 515.0), compiled("v6e", 255.0, 105.0)]))
    read = Read(text)
    assert [given["aria-label"] for given in read.named("svg")] == [
        "Roofline: v5e: estimate, no TPU; case large", "Roofline: v6e: estimate, no TPU; case large",
    ]  # fmt: skip
    assert "Y yours 515 µs, 81% of the roof" in text
    assert "is read 16 times over" in text
    assert "bf16 products 197T" in text
    assert not [given for _, given in read.elements if {"style", "src"} & set(given)], "the page's policy lets none"


def test_without_an_estimate_there_is_no_picture() -> None:
    assert not Read(shown()).named("svg")


def test_everything_lies_inside_the_axes() -> None:
    made = drawing(one(earlier=[speed(n, 10.0 ** (n + 1), passed=True) for n in range(6)]))
    assert made.marks and made.across and made.upwards and not made.bars
    for mark in made.marks:
        assert LEFT < mark.x < WIDTH - RIGHT and TOP < mark.y < HEIGHT - BOTTOM
    for x1, y1, x2, y2 in made.lines:
        assert all(LEFT <= x <= WIDTH - RIGHT for x in (x1, x2)) and all(TOP <= y <= HEIGHT - BOTTOM for y in (y1, y2))


def test_the_slower_program_is_lower_and_the_one_that_moves_more_is_further_left() -> None:
    marks = {mark.sign: mark for mark in drawing(one()).marks}
    assert marks["Y"].y > marks["R"].y and marks["Y"].x < marks["R"].x
    assert marks["Y"].words == "yours: 515 µs, 66.7Top/s at 100 op/byte"


def test_programs_in_one_place_share_a_mark() -> None:
    (mark,) = drawing(one(us=215.0, work=BETTER)).marks
    assert (mark.sign, mark.who) == ("RY", "yours")
    assert "reference: 215 µs" in mark.words and "yours: 215 µs" in mark.words


def test_a_program_that_only_moves_data_has_bars() -> None:
    moves = Work({}, 820 * 10**6 // 2, 0, True)
    made = drawing(one(us=1000.0, work=moves, reference_work=moves))
    assert not made.marks and [bar.sign for bar in made.bars] == ["Y", "R"]
    assert made.bars[0].width == pytest.approx((WIDTH - LEFT - RIGHT) / 2, rel=0.01)
    assert made.bars[1].width == WIDTH - LEFT - RIGHT, "never more than what the memory can do"
    assert len(Read(shown(one(us=1000.0, work=moves))).named("rect")) >= 2


@pytest.mark.parametrize(
    "work", [Work({}, None, 0, False), Work({}, 0, 0, True), Work({"bf16": -4}, -7, 0, True)], ids=str
)
def test_hostile_figures_draw_nothing_wrong(work: Work) -> None:
    text = shown(one(work=work))
    Read(text)
    assert (
        "nan" not in re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL).lower()
        and "inf" not in text.split("<svg")[1]
    )


def test_no_text_is_markup() -> None:
    text = shown(one(advice=HOSTILE + CONTROLS, case=HOSTILE + CONTROLS))
    read = Read(text)
    assert len(read.named("script")) == 1 and not read.named("img")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\ud800-\udfff]", text)


def test_every_template_is_in_the_package() -> None:
    folder = Path(__file__).parents[2] / "tutor" / "cli" / "templates"
    assert (folder / "roofline.html").is_file()
