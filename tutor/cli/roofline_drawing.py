"""A roofline as the numbers of an SVG picture; `templates/roofline.html` draws them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tutor.tui.roofline_model import (
    UNITS,
    Frame,
    Point,
    Roofline,
    frame,
    heading,
    legend,
    micros,
    roof_lines,
    si,
    ticks,
)  # fmt: skip

WIDTH, HEIGHT = 640.0, 360.0
LEFT, RIGHT, TOP, BOTTOM = 64.0, 16.0, 16.0, 44.0
GAP = 34.0
TOGETHER = 9.0


@dataclass(frozen=True)
class Label:
    """Words at a place of the picture."""

    x: float
    y: float
    words: str


@dataclass(frozen=True)
class Mark:
    """One program. `words` are shown when one rests on it."""

    x: float
    y: float
    sign: str
    who: str
    words: str


@dataclass(frozen=True)
class Bar:
    """What one program moves in a second; a bar of the width `full` is what the memory can do."""

    y: float
    width: float
    sign: str
    who: str
    words: str


@dataclass(frozen=True)
class Drawing:
    """One picture in a box of `width` by `height`; lists that do not belong to its kind are empty."""

    title: str
    width: float
    height: float
    left: float
    right: float
    floor: float
    across: list[Label]
    upwards: list[Label]
    lines: list[tuple[float, float, float, float]]
    ceilings: list[Label]
    marks: list[Mark]
    bars: list[Bar]
    best: str
    legend: list[tuple[str, str]]
    advice: str | None


def drawing(of: Roofline) -> Drawing:
    """The picture of one chip: under its roof, or as bars where the program only moves data."""
    return _bars(of) if of.only_moves else _roof(of)


def _roof(of: Roofline) -> Drawing:
    box = frame(of, WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM)
    ceilings = []
    for unit in of.ceilings:
        level = of.top.rates[unit]
        ceilings.append(Label(_right(), TOP + box.y(level) - 6, f"{UNITS[unit]} {si(level)}"))
    return Drawing(
        title=heading(of),
        width=WIDTH,
        height=HEIGHT,
        left=LEFT,
        right=_right(),
        floor=HEIGHT - BOTTOM,
        across=[Label(LEFT + box.x(v), HEIGHT - BOTTOM + 18, si(v)) for v in ticks(box.left, box.right)],
        upwards=[Label(LEFT - 8, TOP + box.y(v), si(v)) for v in ticks(box.bottom, box.top)],
        lines=[_rounded(LEFT + a, TOP + b, LEFT + c, TOP + d) for (a, b), (c, d) in roof_lines(of, box)],
        ceilings=ceilings,
        marks=_marks(of, box),
        bars=[],
        best="",
        legend=[(words, str(who)) for words, who in legend(of)],
        advice=of.advice,
    )


def _bars(of: Roofline) -> Drawing:
    shown = [one for one in of.points if one.bytes_per_s is not None]
    full = _right() - LEFT
    bars = [
        Bar(
            y=TOP + n * GAP,
            width=round(full * min(1.0, (one.bytes_per_s or 0.0) / of.top.bytes_per_s), 1),
            sign=one.sign,
            who=one.who,
            words=f"{si(one.bytes_per_s or 0.0)}B/s",
        )
        for n, one in enumerate(shown)
    ]
    floor = TOP + len(bars) * GAP + 4
    return Drawing(
        title=heading(of),
        width=WIDTH,
        height=floor + 24,
        left=LEFT,
        right=_right(),
        floor=floor,
        across=[],
        upwards=[],
        lines=[],
        ceilings=[],
        marks=[],
        bars=bars,
        best=f"{si(of.top.bytes_per_s)}B/s, what the memory can do",
        legend=[(words, str(who)) for words, who in legend(of)],
        advice=of.advice,
    )


def _marks(of: Roofline, box: Frame) -> list[Mark]:
    """One mark for programs that lie in one place, with all their signs; it has the colour of the last one."""
    made: list[Mark] = []
    for one in [_mark(point, box) for point in of.placed]:
        for n, other in enumerate(made):
            if math.hypot(one.x - other.x, one.y - other.y) < TOGETHER:
                made[n] = Mark(one.x, one.y, f"{other.sign}{one.sign}", one.who, f"{other.words}; {one.words}")
                break
        else:
            made.append(one)
    return made


def _mark(one: Point, box: Frame) -> Mark:
    assert one.intensity is not None and one.rate is not None
    words = f"{one.who}: {micros(one.us)}, {si(one.rate)}op/s at {one.intensity:.3g} op/byte"
    return Mark(round(LEFT + box.x(one.intensity), 1), round(TOP + box.y(one.rate), 1), one.sign, one.who, words)


def _right() -> float:
    return WIDTH - RIGHT


def _rounded(a: float, b: float, c: float, d: float) -> tuple[float, float, float, float]:
    return round(a, 1), round(b, 1), round(c, 1), round(d, 1)
