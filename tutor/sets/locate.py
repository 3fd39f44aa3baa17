"""Where a key stands in TOML text. Only errors need this, so it reads lines and not the whole grammar."""

from __future__ import annotations

import re

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?$")
_ASSIGN = re.compile(r"^\s*((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*=")
_PART = re.compile(r"[\w-]+|\"[^\"]*\"|'[^']*'")


def line_of(text: str, key: tuple[str | int, ...]) -> int | None:
    """The 1-based line of the longest beginning of `key` that stands in `text`: the key itself, else its table; for a
    list of tables, the first of them."""
    best: tuple[int, int | None] = (0, None)
    inside: int | None = None
    table: tuple[str | int, ...] = ()
    counts: dict[tuple[str | int, ...], int] = {}
    fence: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if fence is not None:
            fence = None if fence in line else fence
            continue
        if header := _HEADER.match(line):
            table = _path(header[2])
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            here = table
        elif assign := _ASSIGN.match(line):
            here = (*table, *_path(assign[1]))
            fence = next((f for f in ('"""', "'''") if line.count(f) == 1), None)
        else:
            continue
        if inside is None and here[: len(key)] == key:
            inside = number
        shared = len(here) if key[: len(here)] == here else 0
        if shared > best[0]:
            best = (shared, number)
    return inside if best[1] is None else best[1]


def _path(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in _PART.findall(dotted))
