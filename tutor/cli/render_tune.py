"""A sweep of block sizes as plain terminal text: for each chip what is best, the map, and the table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tutor.cli.text import cut, one_line, paint, plain, table, wrap
from tutor.ladder.sweep_picture import Row, conclusion, head, heat, heat_lines, last_words, rows, title, was_cut
from tutor.protocol import Sweep

_COLOURS = {"overflow": "red", "refused": "red", "unavailable": "yellow"}


def render_sweep(sweep: Sweep, *, width: int = 80, color: bool = False) -> str:
    """The whole sweep. Lines are at most `width` wide where the table allows it."""
    name = sweep.exercise or Path(sweep.attempt.path).name
    lines = [paint(f"{one_line(name)}, case {one_line(sweep.case)}", "bold", color)]
    lines += [*wrap(_tried(sweep), width)]
    for chip in sweep.chips:
        lines += [
            "",
            *(paint(line, "bold", color) for line in wrap(title(sweep, chip), width)),
            *_chip(sweep, chip, width, color),
        ]
    notes = dict.fromkeys(note for one in sweep.tried if one.schedule for note in one.schedule.notes)
    for note in notes:
        lines += wrap(f"Of some: {one_line(note)}.", width)
    for note in sweep.notes:
        lines += wrap(f"Not measured: {one_line(note)}", width)
    lines += ["", *wrap(last_words(sweep), width)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _tried(sweep: Sweep) -> str:
    swept = "; ".join(f"{name} {', '.join(map(str, some))}" for name, some in sweep.parameters.items())
    count = f"{len(sweep.tried)} of {sweep.planned} tried" if not sweep.complete else f"{len(sweep.tried)} tried"
    fewer = f" Of {sweep.possible} combinations these are the nearest to yours." if was_cut(sweep) else ""
    return f"{count} in {sweep.seconds:.1f} s: {swept}.{fewer}"


def _chip(sweep: Sweep, chip: str, width: int, color: bool) -> Iterator[str]:
    yield from wrap(conclusion(sweep, chip), width)
    picture = heat(sweep, chip)
    if picture is not None:
        yield ""
        yield from (cut(f"  {line}", width) for line in heat_lines(picture))
    yield ""
    found = rows(sweep, chip)
    right = range(len(sweep.own) + 2)
    for row, line in zip(
        [None, *found], table([head(sweep), *(row.cells for row in found)], right=[*right]), strict=True
    ):
        yield "  " + _painted(row, cut(plain(line), width - 2), color)


def _painted(row: Row | None, line: str, color: bool) -> str:
    return paint(line, "dim" if row is None else _COLOURS.get(row.kind, ""), color)
