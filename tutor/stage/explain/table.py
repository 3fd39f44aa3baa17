"""Tables of known messages, and the one way in which a row of them becomes a finding."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tutor.findings import finding
from tutor.protocol import CaseFacts, Finding
from tutor.stage.explain.buffers import NO_NAMES, Names
from tutor.stage.explain.reading import Reading
from tutor.stage.explain.where import Place

RAW_LIMIT = 4000
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class Clue:
    """What is known about one error. `match` is the row's match on `text`; `kind` is the exception's class name.

    `place` is a line of the kernel; `launch` is the call of the kernel, where that is all that the error points at."""

    kind: str
    text: str
    place: Place | None
    reading: Reading
    path: str
    match: re.Match[str]
    facts: CaseFacts | None = None
    names: Names = NO_NAMES
    launch: Place | None = None

    def group(self, name: str) -> str:
        """A named group of the match, or an empty string."""
        return (self.match.groupdict().get(name) or "").strip()


LONGEST = 20_000
"""No message of JAX is longer; an attempt's own may be, and patterns must not search a megabyte of it."""


class Words(NamedTuple):
    """What to say. `code`, `ref` and `place` overrule the row's code and the place that the exception has."""

    message: str
    hint: str | None = None
    ref: str | None = None
    place: Place | None = None
    code: str | None = None


class Row(NamedTuple):
    """One known message: a pattern searched in the text, its code, and who says it; `kinds` are class names."""

    pattern: str
    code: str
    say: Callable[[Clue], Words | None]
    kinds: tuple[str, ...] = ()


def look_up(
    rows: Sequence[Row],
    kind: str,
    text: str,
    place: Place | None,
    reading: Reading,
    path: str,
    *,
    facts: CaseFacts | None = None,
    names: Names | None = None,
    launch: Place | None = None,
    raw: str | None = None,
) -> Finding | None:
    """The finding of the first row that knows this text; a row that answers None passes it on."""
    text = text[:LONGEST]
    for row in rows:
        if row.kinds and kind not in row.kinds:
            continue
        match = re.search(row.pattern, text, re.DOTALL)
        if match is None:
            continue
        words = row.say(Clue(kind, text, place, reading, path, match, facts, names or NO_NAMES, launch))
        if words is not None:
            words = words._replace(place=reading.sharpened(words.place or place or launch, words.ref))
            return speak(row.code, words, place, raw if raw is not None else f"{kind}: {text}")
    return None


def speak(code: str, words: Words, place: Place | None, raw: str) -> Finding:
    """The finding of these words."""
    where = words.place or place
    return finding(
        words.code or code,
        clean(words.message),
        hint=words.hint,
        ref=words.ref,
        line=where.line if where else None,
        column=where.column if where else None,
        raw=clean(raw[:LONGEST])[:RAW_LIMIT],
    )


def clean(text: str) -> str:
    """`text` without control characters (newline and tab stay): it comes from the learner's program."""
    return _CONTROL.sub("", text)


def first_line(text: str, limit: int = 300) -> str:
    """The first line that says something, shortened and without its full stop."""
    line = next((ln.strip() for ln in clean(text).splitlines() if ln.strip()), "")
    return line.rstrip(".") if len(line) <= limit else line[: limit - 1] + "…"


def code_name(name: str | None, otherwise: str) -> str:
    """`name` in backticks, or the words to use when there is no name."""
    return f"`{name}`" if name else otherwise
