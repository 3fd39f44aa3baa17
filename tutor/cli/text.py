"""Text for a terminal: safe, wrapped, coloured, in columns."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

# Everything that could move the cursor, change colours, or reorder what is read.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_COLOURS = {
    "green": "32",
    "red": "31",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
    "dim": "2",
    "bold": "1",
}


def plain(text: str) -> str:
    """The text with its control characters written out, as in `\\x1b`; tabs and line ends stay."""
    return _CONTROL.sub(lambda m: ascii(m[0])[1:-1], text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """The text as one safe line."""
    return plain(" ".join(text.split()))


def paint(text: str, colour: str, on: bool) -> str:
    """The text in a colour, if colours are on and one is given."""
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if on and text and colour else text


def wrap(text: str, width: int, indent: str = "", *, whole_words: bool = False) -> list[str]:
    """Safe lines of at most `width`, each with the indent. Line ends of the text are kept. `whole_words`: a word that
    is wider, such as a path to copy, is not broken."""
    lines: list[str] = []
    for paragraph in plain(text).splitlines() or [""]:
        found = textwrap.wrap(paragraph, max(20, width - len(indent)), break_on_hyphens=False,
                              break_long_words=not whole_words)  # fmt: skip
        lines += [indent + line for line in found or [""]]
    return lines


def cut(text: str, width: int) -> str:
    """The text, shortened to `width` with an ellipsis if it is longer."""
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


def table(rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), indent: str = "") -> list[str]:
    """Rows in columns as wide as their widest cell; the columns in `right` are set to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))] if rows else []
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append((indent + "  ".join(cells)).rstrip())
    return lines


def times(count: int | None) -> str:
    """How often something happens; a loop whose trip count depends on data is `×?`."""
    return "×?" if count is None else f"×{count}"


def plural(count: int | None, word: str, many: str | None = None) -> str:
    """`1 load`, `2 loads`, `? loads`."""
    return f"{'?' if count is None else count} {word if count == 1 else many or word + 's'}"
