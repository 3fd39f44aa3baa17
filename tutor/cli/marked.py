"""The marked jaxpr and the access table as lines for a terminal."""

from __future__ import annotations

from tutor.cli.text import one_line, paint, plain, size, table
from tutor.protocol import Kernel, MarkedJaxpr
from tutor.tui.access_model import ref_rows
from tutor.tui.model import LETTERS

COLOURS = {
    "load": "blue",
    "store": "yellow",
    "accumulate": "magenta",
    "copy_start": "green",
    "copy_wait": "green",
    "semaphore": "cyan",
    "comment": "dim",
}


def marked_text(marks: MarkedJaxpr, *, color: bool) -> list[str]:
    """One line of the jaxpr a line: the letter of its access, the learner's line, the text."""
    wide = max((len(str(line.source_line)) for line in marks.lines if line.source_line), default=1)
    shown = []
    for text, line in zip(marks.text.splitlines(), marks.lines, strict=True):
        letter = LETTERS[line.kind] if line.kind else " "
        number = str(line.source_line or "").rjust(wide)
        colour = COLOURS.get(line.kind or "", "dim" if text.lstrip().startswith("#") else "")
        body = plain(text)
        if line.kind:
            letter = paint(letter, colour, color)
        shown.append(f"{letter} {paint(number, 'dim', color)} {paint(body, colour, color and bool(colour))}".rstrip())
    return shown


def access_table(kernel: Kernel) -> list[str]:
    """One row a Ref: space, shape, dtype, block, and how often one grid step loads, stores, accumulates and copies."""
    rows = [("ref", "space", "shape", "dtype", "block", "loads", "stores", "accum.", "copies", "bytes/step")]
    for row in ref_rows(kernel):
        counts = ["×?" if row.counts[letter] is None else str(row.counts[letter]) for letter in "LSAC"]
        rows.append(
            (
                one_line(row.ref),
                row.space,
                _dims(row.shape),
                row.dtype,
                _dims(row.block),
                counts[0],
                counts[1],
                counts[2],
                counts[3],
                size(row.bytes_per_step),
            )
        )
    grid = "×".join("?" if extent is None else str(extent) for extent in kernel.grid) or "none"
    moved = f"{size(kernel.bytes_in)} in, {size(kernel.bytes_out)} out over the whole grid"
    return [f"{one_line(kernel.name)}: grid {grid}; {moved}", *table(rows, right=range(5, 10), indent="  ")]


def _dims(shape: object) -> str:
    return "" if shape is None else "×".join("·" if n is None else str(n) for n in shape) or "()"  # type: ignore[attr-defined]
