"""The marked jaxpr and the access table as lines for a terminal, and the parts that the HTML page is made of too."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from tutor.cli.text import one_line, paint, plain, table, wrap
from tutor.protocol import Kernel, MarkedJaxpr, Span
from tutor.tui.access_model import ref_rows
from tutor.tui.model import LETTERS
from tutor.tui.text import dims, short_dtype, size

COLOURS = {
    "load": "blue",
    "store": "yellow",
    "accumulate": "magenta",
    "copy_start": "green",
    "copy_wait": "green",
    "semaphore": "cyan",
    "comment": "dim",
    "type": "dim",
    "param": "dim",
    "space.vmem": "cyan",
    "space.smem": "yellow",
    "space.any": "magenta",
    "space.hbm": "magenta",
    "space.semaphore": "cyan",
}
HEAD = ("ref", "space", "shape", "dtype", "block", "loads", "stores", "accum.", "copies", "bytes/step")
NUMBERS = range(5, 10)
"""The columns of the access table that hold numbers."""

type Piece = tuple[str, str | None]
"""A piece of a line and the role of its span, if it has one."""


def pieces(marks: MarkedJaxpr) -> list[list[Piece]]:
    """Every line of the text, cut at its spans. Joined again, the pieces of a line are the line."""
    spans: dict[int, list[Span]] = defaultdict(list)
    for span in marks.spans:
        spans[span.line].append(span)
    return [_cut(text, spans[number]) for number, text in enumerate(marks.text.split("\n"))]


def _cut(text: str, spans: Sequence[Span]) -> list[Piece]:
    found: list[Piece] = []
    at = 0
    for span in spans:
        if span.start > at:
            found.append((text[at : span.start], None))
        if span.end > max(at, span.start):
            found.append((text[max(at, span.start) : span.end], span.role))
        at = max(at, span.end)
    return [*found, (text[at:], None)] if at < len(text) else found


def marked_text(marks: MarkedJaxpr, *, color: bool) -> list[str]:
    """One line of the jaxpr a line: the letter of its access, the learner's line, the text."""
    wide = max((len(str(line.source_line)) for line in marks.lines if line.source_line), default=1)
    shown = []
    for parts, line in zip(pieces(marks), marks.lines, strict=True):
        letter = paint(LETTERS[line.kind], COLOURS[line.kind], color) if line.kind else " "
        number = paint(str(line.source_line or "").rjust(wide), "dim", color)
        body = "".join(paint(plain(text), COLOURS.get(role or "", ""), color) for text, role in parts)
        shown.append(f"{letter} {number} {body}".rstrip())
    return shown


def grid_text(kernel: Kernel) -> str:
    """The grid as `4×2×?`: an extent that depends on data is `?`."""
    return dims(kernel.grid).replace("·", "?") if kernel.grid else "none"


def heading(kernel: Kernel) -> str:
    """The kernel in one line: its grid, and the bytes that cross HBM."""
    moved = f"{size(kernel.bytes_in)} in, {size(kernel.bytes_out)} out over the whole grid"
    return f"{one_line(kernel.name)}: grid {grid_text(kernel)}; {moved}"


def table_rows(kernel: Kernel) -> list[tuple[str, ...]]:
    """The access table below `HEAD`: one row a Ref, and one last row with the sums of one grid step."""
    rows = [
        (
            one_line(row.ref), row.space, dims(row.shape), short_dtype(row.dtype), dims(row.block),
            *(_count(row.counts[letter]) for letter in "LSAC"), size(row.bytes_per_step),
        )
        for row in ref_rows(kernel)
    ]  # fmt: skip
    sums = map(_count, (kernel.loads, kernel.stores, kernel.accumulates, kernel.copies))
    return [*rows, ("one step", "", "", "", "", *sums, "")]


def table_notes(kernel: Kernel) -> list[str]:
    """What a reader of this kernel's table must know to read its numbers right."""
    notes = []
    if any(access.branch for access in kernel.accesses):
        notes.append(
            "An access in a branch counts in the row of its Ref as if the branch were taken. "
            "The sums take the branch that does most."
        )
    if any(access.per_step is None for access in kernel.accesses):
        notes.append("×? is in a loop whose length depends on data.")
    return notes


def access_table(kernel: Kernel, *, color: bool = False) -> list[str]:
    """The access table of one kernel for a terminal."""
    head, *rows = table([HEAD, *table_rows(kernel)], right=NUMBERS, indent="  ")
    notes = [line for note in table_notes(kernel) for line in wrap(note, 88, "  ")]
    name, colon, rest = heading(kernel).partition(":")
    return [
        paint(name, "bold", color) + colon + rest,
        paint(head, "dim", color),
        *rows[:-1],
        paint(rows[-1], "bold", color),
        *(paint(note, "dim", color) for note in notes),
    ]


def _count(number: int | None) -> str:
    return "×?" if number is None else str(number) if number else "·"
