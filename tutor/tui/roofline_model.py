"""The roofline as a picture: which programs are on it, where they lie, and the picture as rows of text.

Across is how many operations a program does for each byte that it moves, upwards how many it does in a second; both
axes are logarithmic. A program that only moves data has no place there: then there are bars of its bytes a second."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tutor.protocol import Compilation, Timing, Work
from tutor.record import Speed
from tutor.roof import Roof, chip_of, least_us, roof, unit_us

type Who = Literal["yours", "reference", "earlier"]
type Tone = Literal["roof", "axis", "label", "yours", "reference", "earlier", "several"]
type Row = list[tuple[str, Tone]]

MOST_EARLIER = 6
ALIKE = 0.03
UNITS = {
    "bf16": "bf16 products",
    "int8": "int8 products",
    "int4": "int4 products",
    "fp8": "fp8 products",
    "f32": "f32 products (HIGHEST)",
    "vector": "vector unit",
}
LETTERS: Mapping[Who, str] = {"yours": "Y", "reference": "R"}


@dataclass(frozen=True)
class Point:
    """One program: its work and its time. `intensity` is operations a byte, `rate` operations a second, of the unit
    `unit` that has the most to do; both are None if it works nothing out, or if its bytes are not known."""

    who: Who
    sign: str
    us: float
    unit: str
    intensity: float | None
    rate: float | None
    bytes_per_s: float | None
    share: float | None


@dataclass(frozen=True)
class Roofline:
    """One chip's roof with the programs under it. `measured`: times from a device, else from the estimate."""

    chip: str
    case: str
    measured: bool
    top: Roof
    points: tuple[Point, ...]
    advice: str | None

    @property
    def ceilings(self) -> list[str]:
        """The units that limit a program here, and bf16 products, which everything is compared with; fastest first."""
        units = {"bf16"} | {point.unit for point in self.points if point.rate is not None}
        return sorted(units, key=lambda unit: -self.top.rates[unit])

    @property
    def placed(self) -> list[Point]:
        """The programs that have a place in the picture; yours last, so that it is on top."""
        found = [point for point in self.points if point.rate is not None]
        order: tuple[Who, ...] = ("earlier", "reference", "yours")
        return sorted(found, key=lambda point: order.index(point.who))

    @property
    def only_moves(self) -> bool:
        """Whether your program has no place in the picture."""
        return not any(point.who == "yours" and point.rate is not None for point in self.points)


def rooflines(
    compilations: Sequence[Compilation], timing: Timing | None = None, earlier: Sequence[Speed] = ()
) -> list[Roofline]:
    """What can be drawn of a check: the measured times if there are any, else one picture for each estimated chip."""
    if timing is not None and (chip := chip_of(timing.device_kind)) is not None and timing.work is not None:
        top = roof(chip, timing.cores)
        mine = point("yours", top, timing.work, timing.attempt_us)
        if mine is not None:
            other = point("reference", top, timing.reference_work, timing.reference_us)
            before = _earlier(earlier, top, chip, timing.case, ("device", "wall"), mine)
            points = (mine, *([other] if other else []), *before)
            return [Roofline(chip, timing.case, True, top, points, timing.advice)]
    return [made for one in compilations if (made := _estimated(one, earlier)) is not None]


def _estimated(one: Compilation, earlier: Sequence[Speed]) -> Roofline | None:
    try:
        top = roof(one.chip)
    except KeyError:
        return None
    mine = point("yours", top, one.work, one.schedule.total_us) if one.schedule is not None else None
    if mine is None:
        return None
    other = point("reference", top, one.reference_work, one.reference.total_us) if one.reference is not None else None
    before = _earlier(earlier, top, one.chip, one.case, ("estimate",), mine)
    return Roofline(one.chip, one.case, False, top, (mine, *([other] if other else []), *before), one.advice)


def point(who: Who, top: Roof, work: Work | None, us: float, sign: str = "") -> Point | None:
    """Where a program lies; None for no program or no time. Hostile figures make it a program without a place."""
    if work is None or not 0 < us < math.inf:
        return None
    operations = {unit: n for unit, n in work.operations.items() if unit in top.rates and n > 0}
    unit, _ = unit_us(top, operations)
    busy = {name: n for name, n in operations.items() if (name == "vector") == (unit == "vector")}
    count, moved = sum(busy.values()), work.moved
    there = bool(count and moved and moved > 0)
    return Point(
        who=who,
        sign=sign or LETTERS[who],
        us=us,
        unit=unit,
        intensity=count / moved if there and moved else None,
        rate=count / us * 1e6 if there else None,
        bytes_per_s=moved / us * 1e6 if moved is not None and moved > 0 else None,
        share=least_us(top, operations, moved) / us if moved is not None and moved >= 0 and (count or moved) else None,
    )


def _earlier(
    speeds: Sequence[Speed], top: Roof, chip: str, case: str, clocks: tuple[str, ...], mine: Point
) -> list[Point]:
    """The last attempts that passed and lie somewhere else, oldest first, signed 1, 2, …"""
    wanted = [one for one in speeds if one.passed and (one.chip, one.case) == (chip, case) and one.clock in clocks]
    kept: list[Point] = []
    for one in reversed(wanted):
        past = _past(one, top)
        if past is not None and len(kept) < MOST_EARLIER and not any(_alike(past, other) for other in (mine, *kept)):
            kept.append(past)
    return [replace(past, sign=str(n)) for n, past in enumerate(reversed(kept), 1)]


def _alike(a: Point, b: Point) -> bool:
    """Whether two programs lie in one place, as far as anybody can see."""
    return all(
        x == y or (x is not None and y is not None and math.isclose(x, y, rel_tol=ALIKE))
        for x, y in ((a.us, b.us), (a.intensity, b.intensity), (a.bytes_per_s, b.bytes_per_s))
    )


def _past(one: Speed, top: Roof) -> Point | None:
    return point("earlier", top, Work(one.operations, one.moved, 0, True), one.attempt_us, "?")


# ---------------------------------------------------------------- placing


@dataclass(frozen=True)
class Frame:
    """A picture of `width` by `height` units; its edges are logarithms to base ten. (0, 0) is the upper left corner."""

    width: float
    height: float
    left: float
    right: float
    bottom: float
    top: float

    def x(self, intensity: float) -> float:
        """How far from the left an intensity is; outside the picture it is at its edge."""
        return _clamped((math.log10(intensity) - self.left) / (self.right - self.left), self.width)

    def y(self, rate: float) -> float:
        """How far from the upper edge a rate is."""
        return _clamped((self.top - math.log10(rate)) / (self.top - self.bottom), self.height)


def _clamped(share: float, size: float) -> float:
    return max(0.0, min(1.0, share)) * size


def frame(of: Roofline, width: float, height: float) -> Frame:
    """Round every program, every ridge and every ceiling, with some room."""
    ridges = [of.top.ridge(unit) for unit in of.ceilings]
    across = [*ridges, *(p.intensity for p in of.placed if p.intensity)]
    upwards = [*(of.top.rates[unit] for unit in of.ceilings), *(p.rate for p in of.placed if p.rate)]
    lowest = min(min(upwards), of.top.ceiling("bf16", min(across)))
    return Frame(
        width, height,
        left=math.log10(min(across) / 3), right=math.log10(max(across) * 4),
        bottom=math.log10(lowest / 2), top=math.log10(max(upwards) * 1.7),
    )  # fmt: skip


def ticks(low: float, high: float) -> list[float]:
    """The values to write at an axis from 10**low to 10**high: powers of ten, with their doubles and fives where there
    would be fewer than two."""
    powers = range(math.floor(low), math.ceil(high) + 1)
    for steps in ((1,), (1, 2, 5)):
        found = [step * 10.0**n for n in powers for step in steps if low <= math.log10(step * 10.0**n) <= high]
        if len(found) >= 2:
            break
    return found


def roof_lines(of: Roofline, box: Frame) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    """The roof as straight lines: the slope of the memory, then each unit's ceiling from where it begins."""
    low = max(10**box.left, 10**box.bottom / of.top.bytes_per_s)
    ridge = of.top.ridge(of.ceilings[0])
    yield (box.x(low), box.y(low * of.top.bytes_per_s)), (box.x(ridge), box.y(of.top.rates[of.ceilings[0]]))
    for unit in of.ceilings:
        level = box.y(of.top.rates[unit])
        yield (box.x(of.top.ridge(unit)), level), (box.width, level)


# ---------------------------------------------------------------- text

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
LABEL = 5


def picture(of: Roofline, width: int, height: int) -> list[Row]:
    """The picture as `height` rows of at most `width` characters: the roof in braille dots, programs as letters."""
    across, rows = max(8, width - LABEL - 1), max(2, height - 1)
    box = frame(of, across, rows)
    cells: list[list[tuple[str, Tone]]] = [[(" ", "roof")] * across for _ in range(rows)]
    _draw_roof(of, box, cells)
    _name_ceilings(of, box, cells)
    for at, points in _by_cell(of, box).items():
        sign, tone = (points[0].sign, points[0].who) if len(points) == 1 else ("&", "several")
        cells[at[0]][at[1]] = (sign, tone)  # type: ignore[assignment]
    marks = {min(rows - 1, int(box.y(value))): si(value) for value in ticks(box.bottom, box.top)}
    marks.setdefault(0, "op/s")
    made: list[Row] = [
        [(f"{marks.get(number, ''):>{LABEL}}", "axis"), ("│", "axis"), *_joined(row)]
        for number, row in enumerate(cells)
    ]
    return [*made, [(" " * LABEL + "└", "axis"), (_scale(box, across), "axis")]]


def together(of: Roofline, width: int, height: int) -> list[str]:
    """The signs of programs that share a cell of this picture, as `Y R`."""
    box = frame(of, max(8, width - LABEL - 1), max(2, height - 1))
    return [" ".join(p.sign for p in points) for points in _by_cell(of, box).values() if len(points) > 1]


def _by_cell(of: Roofline, box: Frame) -> dict[tuple[int, int], list[Point]]:
    found: dict[tuple[int, int], list[Point]] = {}
    for one in of.placed:
        assert one.intensity is not None and one.rate is not None
        at = min(int(box.height) - 1, int(box.y(one.rate))), min(int(box.width) - 1, int(box.x(one.intensity)))
        found.setdefault(at, []).append(one)
    return found


def _draw_roof(of: Roofline, box: Frame, cells: list[list[tuple[str, Tone]]]) -> None:
    dots: dict[tuple[int, int], int] = {}
    wide, high = int(box.width) * 2, int(box.height) * 4
    for (x0, y0), (x1, y1) in roof_lines(of, box):
        steps = max(1, round(max(abs(x1 - x0) * 2, abs(y1 - y0) * 4)))
        for n in range(steps + 1):
            x = min(wide - 1, int((x0 + (x1 - x0) * n / steps) * 2))
            y = min(high - 1, int((y0 + (y1 - y0) * n / steps) * 4))
            at = y // 4, x // 2
            dots[at] = dots.get(at, 0) | _DOTS[y % 4][x % 2]
    for (row, column), mask in dots.items():
        cells[row][column] = (chr(0x2800 + mask), "roof")


def _name_ceilings(of: Roofline, box: Frame, cells: list[list[tuple[str, Tone]]]) -> None:
    """Each ceiling is named at its right end, over or under its line, where there is room."""
    for unit in of.ceilings:
        level, words = int(box.y(of.top.rates[unit])), UNITS[unit]
        start = int(box.width) - len(words)
        for row in (level - 1, level + 1):
            if 0 <= row < len(cells) and start >= 0 and all(text == " " for text, _ in cells[row][start:]):
                cells[row][start:] = [(letter, "label") for letter in words]
                break


def _scale(box: Frame, across: int) -> str:
    """The values under the picture, and the name of the axis after the last one, if it fits."""
    line = ["─"] * across
    free = 0
    for value in ticks(box.left, box.right):
        words = si(value)
        at = min(across - len(words), int(box.x(value)))
        if at >= free:
            line[at : at + len(words)] = words
            free = at + len(words) + 1
    name = " op/byte"
    if across - free >= len(name):
        line[across - len(name) :] = name
    return "".join(line)


def _joined(row: Sequence[tuple[str, Tone]]) -> Iterator[tuple[str, Tone]]:
    """Neighbours of one tone as one piece."""
    text, tone = "", row[0][1]
    for letter, its in row:
        if its != tone:
            yield text, tone
            text, tone = "", its
        text += letter
    yield text, tone


def bars(of: Roofline, width: int) -> list[Row]:
    """For programs that only move data: bytes a second as bars, a full one being what the memory can do."""
    rows: list[Row] = []
    for one in of.points:
        if one.bytes_per_s is None:
            continue
        words = f" {si(one.bytes_per_s)}B/s"
        room = max(4, width - 2 - len(words) - 1)
        filled = round(room * min(1.0, one.bytes_per_s / of.top.bytes_per_s))
        tone: Tone = one.who
        rows.append(
            [(one.sign, tone), (" ", "axis"), ("█" * filled, tone), ("·" * (room - filled), "roof"), (words, "label")]
        )
    best = f" {si(of.top.bytes_per_s)}B/s"
    return [*rows, [("  ", "axis"), ("─" * max(4, width - 3 - len(best)), "roof"), (best, "axis")]] if rows else []


def heading(of: Roofline) -> str:
    """`v5e: estimate, no TPU; case large`."""
    how = "measured" if of.measured else "estimate, no TPU"
    return f"{of.chip}: {how}" + (f"; case {of.case}" if of.case else "")


def legend(of: Roofline) -> list[tuple[str, Who]]:
    """What each letter is, with its time and its share of the roof."""
    words = {"yours": "yours", "reference": "reference"}
    made: list[tuple[str, Who]] = []
    for one in of.points:
        if one.who != "earlier":
            share = f", {one.share:.0%} of the roof" if one.share is not None else ""
            made.append((f"{one.sign} {words[one.who]} {micros(one.us)}{share}", one.who))
    if past := [one for one in of.points if one.who == "earlier"]:
        signs = past[0].sign if len(past) == 1 else f"{past[0].sign}-{past[-1].sign}"
        made.append(
            (
                f"{signs} earlier, {micros(past[0].us)}" + (f" to {micros(past[-1].us)}" if len(past) > 1 else ""),
                "earlier",
            )
        )
    return made


def micros(us: float) -> str:
    """A time with three significant digits."""
    value, unit = (us / 1000, "ms") if us >= 1000 else (us, "µs")
    return f"{value:.3g} {unit}"


def si(value: float) -> str:
    """`197T`, `820G`, `0.1`, `10`, `1k`."""
    for size, letter in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size * 0.9995:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"
