"""Where in the learner's file an exception comes from.

JAX tells it in several ways, tried in this order: the traceback of an error of Mosaic's verifier, which JAX makes from
the operation's location; the stack of the operation that JAX hung onto any other exception
(`JaxStackTraceBeforeTransformation`); the exception's own traceback; MLIR locations in a message; and `at FILE:LINE`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from types import TracebackType
from typing import NamedTuple

import msgspec

from tutor.jaxpr.compat import in_other_file, is_users
from tutor.protocol import Finding

OPERATION = "JaxStackTraceBeforeTransformation"
VERIFIERS = ("VerificationError", "MosaicError")


class Place(NamedTuple):
    """A span of the learner's file: lines 1-based, columns 0-based as in `ast`; None where only the line is known."""

    line: int
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None


def chain(exc: BaseException) -> Iterator[BaseException]:
    """`exc`, and what it was raised from."""
    seen: set[int] = set()
    queue: list[BaseException | None] = [exc]
    while queue:
        link = queue.pop(0)
        if link is None or id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        queue += [link.__cause__, link.__context__]


def places(exc: BaseException, path: str) -> list[Place]:
    """The frames of `path` in the traceback of this one exception, outermost first."""
    return [_place(tb) for tb in _frames(exc) if tb.tb_frame.f_code.co_filename == path]


def place_of(exc: BaseException, path: str) -> Place | None:
    """The innermost place in `path` that `exc` or its causes point at, or None."""
    links = list(chain(exc))
    verified = [link for link in links if type(link).__name__ in VERIFIERS]
    operations = [link for link in links if type(link).__name__ == OPERATION]
    for link in (*verified, *operations, *links):
        if found := places(link, path):
            return found[-1]
    for link in links:
        if found_in_text := place_in_text(str(link), path):
            return found_in_text
    return None


def place_in_callback(exc: BaseException, path: str) -> Place | None:
    """The place that the simulator was working for: its callbacks hold the equation's `source_info` in a local."""
    for link in chain(exc):
        for tb in reversed(list(_frames(link))):
            info = tb.tb_frame.f_locals.get("source_info")
            frames = getattr(getattr(info, "traceback", None), "frames", None) or ()
            for frame in frames:
                if getattr(frame, "file_name", None) == path:
                    return Place(int(frame.line_num))
    return None


def elsewhere(exc: BaseException, path: str) -> tuple[str, int] | None:
    """File and line of the innermost code of the user's that `exc` points at, where that is not in `path`."""
    links = list(chain(exc))
    operations = [link for link in links if type(link).__name__ in (*VERIFIERS, OPERATION)]
    for link in operations or links:
        entered = [(tb.tb_frame.f_code.co_filename, tb.tb_lineno) for tb in _frames(link)]
        theirs = [place for place in entered if is_users(place[0])]
        if theirs:
            return theirs[-1] if theirs[-1][0] != path else None
    for link in links:
        for tb in reversed(list(_frames(link))):
            info = tb.tb_frame.f_locals.get("source_info")
            frames = getattr(getattr(info, "traceback", None), "frames", None) or ()
            for frame in frames:
                if is_users(frame.file_name):
                    return (frame.file_name, int(frame.line_num)) if frame.file_name != path else None
    return None


def said_where(found: Finding, exc: BaseException, path: str) -> Finding:
    """The finding, with a sentence on the line of another file that `exc` points at, if it does."""
    sentence = in_other_file(elsewhere(exc, path))
    return msgspec.structs.replace(found, message=found.message + sentence) if sentence else found


def place_in_text(text: str, path: str) -> Place | None:
    """The first place of `path` that a message names, as an MLIR location or as `FILE:LINE[:COLUMN]`."""
    name = re.escape(path)
    if m := re.search(rf'"{name}":(\d+):(\d+)(?: to (\d*):(\d+))?', text):
        # MLIR columns here are 0-based already: they are Python's own offsets.
        line = int(m[1])
        end_line = (int(m[3]) if m[3] else line) if m[4] else None
        return Place(line, int(m[2]), end_line, int(m[4]) if m[4] else None)
    if m := re.search(rf"{name}:(\d+)(?::(\d+))?", text):
        return Place(int(m[1]), int(m[2]) if m[2] else None)
    return None


def _frames(exc: BaseException) -> Iterator[TracebackType]:
    tb = exc.__traceback__
    while tb is not None:
        yield tb
        tb = tb.tb_next


def _place(tb: TracebackType) -> Place:
    line = tb.tb_lineno
    if tb.tb_lasti < 0:
        return Place(line)
    span = next(islice(tb.tb_frame.f_code.co_positions(), tb.tb_lasti // 2, None), (None, None, None, None))
    start, end, column, end_column = span
    if start != line or column is None:
        return Place(line)
    return Place(line, column, end, end_column)
