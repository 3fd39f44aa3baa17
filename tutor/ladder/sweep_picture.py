"""What a sweep says: its choices in order, the best one in words, and a map of two keywords. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from tutor.findings.numbers import two_digits
from tutor.ladder.speed_words import BOUNDS, NOTABLE, amount, confidence, duration
from tutor.protocol import Schedule, Sweep, Tuned

OWN, DEFAULT = "as called", "default"
REFUSED = {"overflow": "VMEM", "refused": "refused", "unavailable": "not available"}
SHADES = ((1.1, "█"), (1.5, "▓"), (2.5, "▒"), (float("inf"), "░"))
"""A bar in the map: full for what is within 10 % of the best, empty for more than 2.5 times as long."""
Kind = Literal["passed", "overflow", "refused", "unavailable", "untried"]


def time_of(one: Tuned) -> float | None:
    """Microseconds: measured where there is a TPU, else estimated; None if there is neither."""
    return one.device_us if one.device_us is not None else one.schedule.total_us if one.schedule else None


def ranked(sweep: Sweep, chip: str) -> list[Tuned]:
    """The choices for one chip: the fastest first, what was measured before what was not; then what has no time."""
    order = list(REFUSED)
    mine = [one for one in sweep.tried if one.chip == chip]
    timed = [one for one in mine if time_of(one) is not None]
    timed.sort(key=lambda one: (one.device_us is None, time_of(one), _key(one)))
    rest = [one for one in mine if time_of(one) is None]
    return timed + sorted(rest, key=lambda one: (order.index(one.status) if one.status in order else -1, _key(one)))


def _key(one: Tuned) -> tuple[int, ...]:
    return tuple(one.values.values())


class Row(NamedTuple):
    """One line of the table, as text. `kind` says whether it has figures."""

    cells: list[str]
    kind: Kind


def head(sweep: Sweep) -> list[str]:
    """The columns' names."""
    times = ["measured"] if any(one.device_us is not None for one in sweep.tried) else []
    return [*sweep.own, *times, "estimate", "a step", "limited by", "VMEM of limit", ""]


def rows(sweep: Sweep, chip: str) -> list[Row]:
    """The table's lines for one chip, the fastest first; the reference's stands among them by its estimate."""
    lines = [_row(sweep, one) for one in ranked(sweep, chip)]
    reference = sweep.reference.get(chip)
    if reference is not None:
        measured = [""] if any(one.device_us is not None for one in sweep.tried) else []
        cells = [*("" for _ in sweep.own), *measured, *_figures(reference), "", "reference"]
        lines.insert(_place(ranked(sweep, chip), reference), Row(cells, "passed"))
    return lines


def _place(choices: Sequence[Tuned], reference: Schedule) -> int:
    """Where the reference stands among choices that are in order: it has an estimate only, so after all that were
    measured."""
    faster = [one.schedule is not None and one.schedule.total_us <= reference.total_us for one in choices]
    return sum(one.device_us is not None or sooner for one, sooner in zip(choices, faster, strict=True))


def title(sweep: Sweep, chip: str) -> str:
    """What the figures of a chip are."""
    words = f"{chip}: estimates from the compiler's schedule"
    measured = any(one.chip == chip and one.device_us is not None for one in sweep.tried)
    return f"{words}, and times measured here of those that looked fastest" if measured else words


def last_words(sweep: Sweep) -> str:
    """What a sweep does not answer."""
    if any(one.device_us is not None for one in sweep.tried):
        return (
            "Only what was measured has run, on the timing case: check your file with the block sizes that you choose."
        )
    return "Nothing was run: check your file with the block sizes that you choose."


def _row(sweep: Sweep, one: Tuned) -> Row:
    measured = [duration(one.device_us) if one.device_us is not None else ""]
    times = measured if any(other.device_us is not None for other in sweep.tried) else []
    limit = _vmem(one.vmem_bytes, one.vmem_limit_bytes) if one.status in ("passed", "overflow") else ""
    figures = _figures(one.schedule) if one.schedule else ["-", "", ""]
    mark = ", ".join(name for name, values in _marks(sweep).items() if values == one.values)
    if one.schedule is None:
        why = REFUSED.get(one.status, "") or one.reason or ""
        mark = " ".join(part for part in (one.code or "", why, mark) if part)
    return Row([*(str(value) for value in one.values.values()), *times, *figures, limit, mark], one.status)


def _vmem(used: int | None, limit: int | None) -> str:
    if limit is None:
        return ""
    return f"{amount(used)} of {amount(limit)}" if used is not None else f"over {amount(limit)}"


def _figures(schedule: Schedule) -> list[str]:
    return [
        duration(schedule.total_us), duration(schedule.per_step_us), BOUNDS.get(schedule.bound, schedule.bound),
    ]  # fmt: skip


def _marks(sweep: Sweep) -> dict[str, dict[str, int]]:
    return {OWN: sweep.own, DEFAULT: sweep.defaults}


def best(sweep: Sweep, chip: str) -> Tuned | None:
    """The fastest choice for a chip; None if no choice has a time."""
    first = next(iter(ranked(sweep, chip)), None)
    return first if first is not None and time_of(first) is not None else None


def own(sweep: Sweep, chip: str) -> Tuned | None:
    """The attempt as the timing case calls it; None if that was not tried yet."""
    return next((one for one in sweep.tried if one.chip == chip and one.values == sweep.own), None)


def conclusion(sweep: Sweep, chip: str) -> str:
    """What the sweep found for a chip. Faster is said only from 10 % on."""
    first, mine = best(sweep, chip), own(sweep, chip)
    if first is None:
        return "None of the block sizes that were tried has a time."
    us, values = time_of(first) or 0.0, in_words(first.values)
    word = "measured" if first.device_us is not None else "an estimated"
    trust = "" if first.device_us is not None else f" {confidence(chip)}"
    if mine is None or time_of(mine) is None or (mine.device_us is None) != (first.device_us is None):
        why = "was not tried yet" if mine is None else "has no time" if time_of(mine) is None else "was not measured"
        return f"The fastest: {values}, {word} {duration(us)}. What the case asks for {why}.{trust}"
    ratio = (time_of(mine) or us) / us
    if ratio < NOTABLE:
        return f"No choice is more than 10 % faster than {in_words(sweep.own)}, which the case asks for.{trust}"
    edge = _at_the_edge(sweep, first)
    return (
        f"The fastest: {values}, {word} {duration(us)}, about {two_digits(ratio)} times faster than "
        f"{in_words(sweep.own)} ({duration(time_of(mine) or us)}), which the case asks for.{edge}{trust}"
    )


def in_words(values: Mapping[str, int]) -> str:
    """`bm=256, bn=128`."""
    return ", ".join(f"{name}={value}" for name, value in values.items())


def _at_the_edge(sweep: Sweep, first: Tuned) -> str:
    """Whether larger or smaller values, which were not tried, might be faster still."""
    names = [
        name for name, values in sweep.parameters.items()
        if len(values) > 1 and first.values[name] in (values[0], values[-1]) and was_cut(sweep)
    ]  # fmt: skip
    if not names:
        return ""
    return f" It lies at the edge of what was tried for {' and '.join(names)}: `--max` or `--param` tries more."


def was_cut(sweep: Sweep) -> bool:
    """Whether there were more combinations than were tried."""
    return math.prod(map(len, sweep.parameters.values())) < sweep.possible


class Cell(NamedTuple):
    """One field of the map: `1.3 ▓` is 1.3 times the best time."""

    text: str
    kind: Kind
    ratio: float | None = None
    own: bool = False


class Heat(NamedTuple):
    """The estimates over two keywords; what else was swept stands at the best choice (`fixed`)."""

    down: str
    across: str
    down_values: list[int]
    across_values: list[int]
    cells: list[list[Cell]]
    fixed: dict[str, int]


def heat(sweep: Sweep, chip: str) -> Heat | None:
    """The map of the two keywords with the most values; None if fewer than two were swept, or nothing is known yet."""
    swept = sorted(
        (name for name, some in sweep.parameters.items() if len(some) > 1), key=lambda name: _count(sweep, name)
    )
    first = best(sweep, chip)
    if len(swept) < 2 or first is None or first.schedule is None:
        return None
    down, across = (name for name in sweep.parameters if name in swept[:2])
    fixed = {name: value for name, value in first.values.items() if name not in (down, across) and name in swept}
    known = {(one.values[down], one.values[across]): one for one in sweep.tried if _on(one, chip, fixed)}
    fastest = min(one.schedule.total_us for one in sweep.tried if one.chip == chip and one.schedule)
    cells = [
        [_cell(known.get((a, b)), fastest, sweep.own) for b in sweep.parameters[across]] for a in sweep.parameters[down]
    ]
    return Heat(down, across, list(sweep.parameters[down]), list(sweep.parameters[across]), cells, fixed)


def _count(sweep: Sweep, name: str) -> int:
    return -len(sweep.parameters[name])


def _on(one: Tuned, chip: str, fixed: Mapping[str, int]) -> bool:
    return one.chip == chip and all(one.values[name] == value for name, value in fixed.items())


def _cell(one: Tuned | None, fastest: float, mine: Mapping[str, int]) -> Cell:
    if one is None:
        return Cell("·", "untried")
    called = one.values == mine
    if one.schedule is None:
        return Cell({"overflow": "VMEM"}.get(one.status, "no"), one.status, own=called)
    ratio = float(f"{one.schedule.total_us / fastest:.2g}")
    shade = next(sign for bound, sign in SHADES if ratio <= bound)
    return Cell(f"{shade} {two_digits(ratio)}" if ratio < 100 else f"{shade} >99", "passed", ratio, called)


def heat_lines(picture: Heat) -> Sequence[str]:
    """The map as text: rows of `down`, columns of `across`; what the case asks for stands in brackets."""
    table = [["", *(str(value) for value in picture.across_values)]]
    for value, cells in zip(picture.down_values, picture.cells, strict=True):
        table.append([str(value), *(f"[{cell.text}]" if cell.own else f" {cell.text} " for cell in cells)])
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in table]
    where = f", {in_words(picture.fixed)}" if picture.fixed else ""
    return [f"{picture.down} down, {picture.across} across{where}; 1 is the fastest", *lines, *HEAT_LEGEND]


HEAT_LEGEND = (
    "█ to 1.1 times the fastest  ▓ to 1.5  ▒ to 2.5  ░ more",
    "VMEM: too large  no: refused  ·: not tried  [ ]: as called",
)
