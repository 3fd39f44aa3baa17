"""The marked jaxpr as lines for a terminal, and cut into the pieces that the HTML page shows too."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from tutor.cli.text import paint, plain
from tutor.protocol import MarkedJaxpr, Span
from tutor.tui.model import LETTERS

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
