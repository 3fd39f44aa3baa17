"""Two jaxprs beside each other: aligned by equation, as marked text; and what the one does more than the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from msgspec import structs

from tutor.protocol import JaxprLine, Kernel, MarkedJaxpr, Span
from tutor.tui.access_model import total
from tutor.tui.text import many, size

type Sign = Literal[" ", "~", "<", ">"]
SIGN_WORDS: dict[Sign, str] = {" ": "the same", "~": "differs", "<": "only yours", ">": "only the other"}
SIDE_BY_SIDE = 68
"""From this width on the two stand beside each other; in less room, below each other."""
_BETWEEN = " │ "


@dataclass(frozen=True)
class Pair:
    """Two lines that belong together, by number; None where one side has no such equation."""

    left: int | None
    right: int | None
    sign: Sign


def align(left: MarkedJaxpr, right: MarkedJaxpr) -> list[Pair]:
    """Pair the lines of two jaxprs. Equations are the same if they differ in the names of variables only."""
    ours, theirs = _keys(left), _keys(right)
    pairs: list[Pair] = []
    # Long jaxprs are full of equal lines, among which the matcher would look for very long: then it may skip those.
    matcher = SequenceMatcher(None, ours, theirs, autojunk=len(ours) + len(theirs) > 4000)
    for what, a, b, c, d in matcher.get_opcodes():
        both = min(b - a, d - c)
        sign: Sign = " " if what == "equal" else "~"
        pairs += [Pair(a + i, c + i, sign) for i in range(both)]
        pairs += [Pair(i, None, "<") for i in range(a + both, b)]
        pairs += [Pair(None, i, ">") for i in range(c + both, d)]
    return pairs


def _keys(jaxpr: MarkedJaxpr) -> list[tuple[int, str]]:
    """What a line says without the names of its variables, and how deep it stands."""
    names: dict[int, list[Span]] = {}
    for span in jaxpr.spans:
        if span.role == "variable":
            names.setdefault(span.line, []).append(span)
    keys = []
    for number, (text, line) in enumerate(zip(jaxpr.text.split("\n"), jaxpr.lines, strict=False)):
        at, said = 0, ""
        for span in names.get(number, ()):
            said += text[at : span.start] + "_"
            at = span.end
        keys.append((line.depth, (said + text[at:]).strip()))
    return keys


# ---------------------------------------------------------------- as text


def compared(left: MarkedJaxpr, right: MarkedJaxpr, width: int) -> MarkedJaxpr:
    """Both as one marked text, beside each other in `width` columns if that is enough room, else below each other.

    Source places are those of `left`; of `right` none are kept, since they are lines of another file."""
    pairs = align(left, right)
    known = right.explanations | left.explanations
    return _beside(left, right, pairs, width, known) if width >= SIDE_BY_SIDE else _below(left, right, pairs, known)


def _beside(
    left: MarkedJaxpr, right: MarkedJaxpr, pairs: Sequence[Pair], width: int, known: dict[str, str]
) -> MarkedJaxpr:
    half = (width - 2 - len(_BETWEEN)) // 2
    ours, theirs = _Side(left), _Side(right)
    text: list[str] = []
    lines: list[JaxprLine] = []
    spans: list[Span] = []
    for number, pair in enumerate(pairs):
        mine, other = ours.text(pair.left), theirs.text(pair.right)
        cut = mine if len(mine) <= half else mine[: half - 1] + "…"
        text.append(f"{pair.sign} {cut:<{half}}{_BETWEEN}{other}")
        lines.append(_record(ours, theirs, pair))
        spans += ours.spans(pair.left, number, 2, half)
        spans += theirs.spans(pair.right, number, 2 + half + len(_BETWEEN), None)
    return MarkedJaxpr("\n".join(text), lines, spans, known)


def _below(left: MarkedJaxpr, right: MarkedJaxpr, pairs: Sequence[Pair], known: dict[str, str]) -> MarkedJaxpr:
    ours, theirs = _Side(left), _Side(right)
    text: list[str] = []
    lines: list[JaxprLine] = []
    spans: list[Span] = []
    for pair in _one_by_one(pairs):
        side, at = (theirs, pair.right) if pair.left is None else (ours, pair.left)
        spans += side.spans(at, len(text), 2, None)
        text.append(f"{pair.sign} {side.text(at)}")
        lines.append(_record(ours, theirs, pair))
    return MarkedJaxpr("\n".join(text), lines, spans, known)


def _one_by_one(pairs: Sequence[Pair]) -> Iterator[Pair]:
    """Pairs that differ taken apart: a run of them first on our side, then on the other."""
    waiting: list[Pair] = []
    for pair in pairs:
        if pair.sign == "~":
            yield Pair(pair.left, None, "<")
            waiting.append(Pair(None, pair.right, ">"))
            continue
        yield from waiting
        waiting = []
        yield pair
    yield from waiting


class _Side:
    """One of the two, line by line."""

    def __init__(self, jaxpr: MarkedJaxpr) -> None:
        self._text = jaxpr.text.split("\n")
        self.lines = jaxpr.lines
        self._spans: dict[int, list[Span]] = {}
        for span in jaxpr.spans:
            self._spans.setdefault(span.line, []).append(span)

    def text(self, line: int | None) -> str:
        return "" if line is None else self._text[line]

    def spans(self, line: int | None, number: int, by: int, most: int | None) -> Iterator[Span]:
        for span in self._spans.get(line, ()) if line is not None else ():
            end = span.end if most is None else min(span.end, most)
            if span.start < end:
                yield Span(number, span.start + by, end + by, span.role)


def _record(ours: _Side, theirs: _Side, pair: Pair) -> JaxprLine:
    if pair.left is not None:
        return structs.replace(ours.lines[pair.left], fold_end=None)
    assert pair.right is not None
    return structs.replace(theirs.lines[pair.right], fold_end=None, source_line=None, source_column=None)


# ---------------------------------------------------------------- in one sentence


def difference(yours: Sequence[Kernel], theirs: Sequence[Kernel], name: str) -> str:
    """What yours does more or less, in one sentence: loads and stores of a grid step, bytes of the whole grid."""
    parts = [
        _counted("load", _sum(yours, "loads"), _sum(theirs, "loads")),
        _counted("store", _stores(yours), _stores(theirs)),
        _counted("copy", _sum(yours, "copies"), _sum(theirs, "copies"), "copies"),
    ]
    parts = [part for part in parts if part]
    step = _listed(parts) if parts else "as many loads, stores and copies"
    moved = [
        _bytes("in", _sum(yours, "bytes_in"), _sum(theirs, "bytes_in")),
        _bytes("out", _sum(yours, "bytes_out"), _sum(theirs, "bytes_out")),
    ]
    return f"Beside {name}, a grid step of yours has {step}; the whole grid moves {_listed([m for m in moved if m])}."


def _sum(kernels: Sequence[Kernel], field: str) -> int | None:
    return total([getattr(kernel, field) for kernel in kernels])


def _stores(kernels: Sequence[Kernel]) -> int | None:
    return total([_sum(kernels, "stores"), _sum(kernels, "accumulates")])


def _counted(word: str, yours: int | None, theirs: int | None, plural: str | None = None) -> str:
    """`2 loads more (6, not 4)`; nothing if they are equal."""
    if yours == theirs:
        return ""
    if yours is None or theirs is None:
        return f"{many(yours, word, plural)}, not {many(theirs, word, plural).partition(' ')[0]}"
    more = "more" if yours > theirs else "fewer"
    return f"{many(abs(yours - theirs), word, plural)} {more} ({yours}, not {theirs})"


def _bytes(way: str, yours: int | None, theirs: int | None) -> str:
    if yours == theirs:
        return f"the same {way} ({size(yours)})"
    if yours is None or theirs is None:
        return f"{size(yours)} {way}, not {size(theirs)}"
    more = "more" if yours > theirs else "less"
    return f"{size(abs(yours - theirs))} {more} {way} ({size(yours)}, not {size(theirs)})"


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]
