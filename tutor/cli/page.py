"""The marked jaxpr as one HTML file: nothing is loaded from elsewhere, and nothing in it is run but our own script."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tutor.cli.access_table import HEAD, NUMBERS, heading, of_kernels, table_notes, table_rows
from tutor.cli.marked import Piece, pieces
from tutor.cli.roofline_drawing import drawing
from tutor.cli.text import plain
from tutor.protocol import AccessKind, CaseFacts, Kernel, MarkedJaxpr
from tutor.tui.access_model import notes
from tutor.tui.model import KINDS, LETTERS, caused_by, letters
from tutor.tui.roofline_model import Roofline

LEGEND: dict[AccessKind, str] = {
    "load": "load",
    "store": "store",
    "accumulate": "accumulate",
    "copy_start": "copy starts",
    "copy_wait": "copy is waited for",
    "semaphore": "semaphore",
}


@dataclass(frozen=True)
class Row:
    """One line of the jaxpr. `folds`: a region begins under it; `ends`: how many regions end with it."""

    number: int
    letter: str
    kind: str
    source: int | None
    words: str | None
    pieces: list[Piece]
    folds: bool
    ends: int


@dataclass(frozen=True)
class SourceLine:
    """One line of the learner's file. `target` is the line of the jaxpr that it caused."""

    number: int
    text: str
    letters: str
    target: int | None


def page(
    title: str,
    file_name: str,
    source: str,
    kernels: Sequence[Kernel],
    marks: MarkedJaxpr,
    facts: Sequence[CaseFacts] = (),
    roofs: Sequence[Roofline] = (),
) -> str:
    """The whole page. Every text may hold anything: it is escaped, and control characters are written out.

    Without `kernels` (a predict exercise that is not solved) nothing is said of what they do."""
    style, script = _asset("jaxpr.css"), _asset("jaxpr.js")
    linked = any(line.source_line for line in marks.lines)
    return _environment().get_template("jaxpr.html").render(
        title=title,
        file_name=file_name,
        policy=f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; base-uri 'none'",
        style=Markup(style),
        script=Markup(script),
        rows=list(rows(marks)),
        source=list(source_lines(source, kernels, marks)) if linked else [],
        tables=[
            (heading(kernel), table_rows(kernel, more), table_notes(kernel, more))
            for kernel, more in of_kernels(kernels, facts)
        ],
        notes=notes(marks) if kernels else [],
        roofs=list(map(drawing, roofs)),
        kinds=KINDS,
        head=HEAD,
        numbers=NUMBERS,
        legend=[(LETTERS[kind], kind, words) for kind, words in LEGEND.items()],
    )  # fmt: skip


def rows(marks: MarkedJaxpr) -> Iterator[Row]:
    """The lines of the jaxpr, with the regions that fold as brackets: each begins under one line and ends with one."""
    open_ends: list[int] = []
    for number, (parts, line) in enumerate(zip(pieces(marks), marks.lines, strict=True)):
        folds = line.fold_end is not None and line.fold_end > number
        if folds:
            assert line.fold_end is not None
            open_ends.append(line.fold_end)
        ends = 0
        while open_ends and open_ends[-1] <= number:
            open_ends.pop()
            ends += 1
        words = marks.explanations.get(line.primitive or "")
        letter = LETTERS[line.kind] if line.kind else ""
        yield Row(number, letter, line.kind or "", line.source_line, words, parts, folds, ends)


def source_lines(source: str, kernels: Sequence[Kernel], marks: MarkedJaxpr) -> Iterator[SourceLine]:
    """The learner's lines as Python counts them."""
    gutter = letters(kernels)
    for number, text in enumerate(re.split(r"\r\n|\r|\n", source.rstrip()), start=1):
        yield SourceLine(number, text, gutter.get(number, ""), caused_by(marks, number))


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("tutor.cli"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: plain(value) if type(value) is str else value,
    )


def _asset(name: str) -> str:
    return (files("tutor.cli") / "templates" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
