"""A sweep of block sizes as the screen shows it: pieces of text, each with what it means. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from tutor.ladder.sweep_picture import (
    HEAT_LEGEND,
    Cell,
    Heat,
    conclusion,
    head,
    heat,
    in_words,
    last_words,
    rows,
    title,
)
from tutor.protocol import Sweep

Tone = Literal["plain", "quiet", "good", "bad", "doubt", "title"]
type Line = Sequence[tuple[str, Tone]]


class TuneView(NamedTuple):
    """Everything on the page: how far the sweep is, and for each chip its lines."""

    progress: str
    lines: list[Line]


def view(sweep: Sweep, *, running: bool) -> TuneView:
    """The page for a sweep that still runs, has ended, or was stopped."""
    lines: list[Line] = []
    for chip in sweep.chips:
        lines += [[(title(sweep, chip), "title")], [(conclusion(sweep, chip), "plain")]]
        picture = heat(sweep, chip)
        if picture is not None:
            lines += [[], *_heat(picture)]
        lines += [[], *_table(sweep, chip), []]
    lines += [[(f"Not measured: {note}", "doubt")] for note in sweep.notes]
    lines.append([(last_words(sweep), "quiet")])
    return TuneView(_progress(sweep, running), lines)


def _progress(sweep: Sweep, running: bool) -> str:
    done = f"{len(sweep.tried)} of {sweep.planned}"
    if running:
        full = 20 * len(sweep.tried) // max(1, sweep.planned)
        return f"{'━' * full}{'─' * (20 - full)}  {done}  {sweep.seconds:.1f} s"
    return f"{done} tried in {sweep.seconds:.1f} s" if sweep.complete else f"stopped: {done} tried"


def _heat(picture: Heat) -> list[Line]:
    widths = [
        max(len(str(value)), *(len(cells[i].text) + 2 for cells in picture.cells))
        for i, value in enumerate(picture.across_values)
    ]
    left = max(len(str(value)) for value in picture.down_values)
    where = f", {in_words(picture.fixed)}" if picture.fixed else ""
    first: Line = [(f"{picture.down} down, {picture.across} across{where}; 1 is the fastest", "quiet")]
    top = "  ".join(str(value).rjust(width) for value, width in zip(picture.across_values, widths, strict=True))
    lines: list[Line] = [first, [(" " * left + "  " + top, "quiet")]]
    for value, cells in zip(picture.down_values, picture.cells, strict=True):
        pieces: list[tuple[str, Tone]] = [(str(value).rjust(left), "quiet")]
        for cell, width in zip(cells, widths, strict=True):
            text = f"[{cell.text}]" if cell.own else f" {cell.text} "
            pieces.append(("  " + text.rjust(width), _tone(cell)))
        lines.append(pieces)
    legend: list[Line] = [[(words, "quiet")] for words in HEAT_LEGEND]
    return [*lines, *legend]


def _tone(cell: Cell) -> Tone:
    if cell.ratio is not None:
        return "good" if cell.ratio <= 1.1 else "plain"
    return "quiet" if cell.kind == "untried" else "doubt" if cell.kind == "unavailable" else "bad"


def _table(sweep: Sweep, chip: str) -> list[Line]:
    found = rows(sweep, chip)
    cells = [head(sweep), *(row.cells for row in found)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    right = len(sweep.own) + 2
    texts = [
        "  ".join(
            cell.rjust(w) if i < right else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    ]
    tones: list[Tone] = ["quiet", *("bad" if row.kind in ("overflow", "refused") else "plain" for row in found)]
    return [[(text.rstrip(), tone)] for text, tone in zip(texts, tones, strict=True)]
