"""Words for races: two accesses to the same memory that nothing orders (KT405)."""

from __future__ import annotations

import re
from typing import NamedTuple

from tutor.stage.explain.bounds import shown
from tutor.stage.explain.reading import Reading, place_at
from tutor.stage.explain.table import Clue, Row, Words, code_name
from tutor.stage.explain.where import Place, place_in_text


class Touch(NamedTuple):
    """One side of a race."""

    kind: str
    buffer: int
    span: str
    thread: int
    core: int
    place: Place | None

    @property
    def copy(self) -> bool:
        return self.thread >= 100  # the simulator gives copies numbers of their own


def race(c: Clue) -> Words:
    touches = _touches(c.text, c.path)
    if len(touches) < 2:
        return Words("Two accesses to the same memory are not ordered, so either may come first.", "Wait in between.")
    a, b = touches[:2]
    ref = c.names.buffers.get(a.buffer)
    for touch in (a, b):
        finder = c.reading.stored_ref if touch.kind == "write" else c.reading.loaded_ref
        ref = ref or (finder(touch.place) if not touch.copy else None)
    whole = ref is not None and c.names.spaces.get(ref) in ("any", "hbm")
    message = (
        f"Two accesses to {code_name(ref, 'the same memory')} are not ordered, so either may come first: "
        f"{_side(a, whole)} and {_side(b, whole)}."
    )
    if a.copy or b.copy:
        plain = b if a.copy else a
        message += (
            " A copy runs beside the kernel from its `start` until its `wait` returns; until then its source must not "
            "change and its destination holds nothing yet."
        )
        hint = "Wait for the copy before this line, or use another buffer for what happens meanwhile."
        if a.copy and b.copy and (a.kind, b.kind) == ("write", "write"):
            hint = "Let each copy write a part of its own, or wait for the first before the second is started."
        place = plain.place if not (a.copy and b.copy) else b.place
    else:
        message += (
            f" They run on two cores (core {a.core} and core {b.core}), because a grid axis is marked `parallel`. "
            "Steps along a parallel axis may run at the same time, so they must not share an output block."
        )
        hint = "Mark the axis `arbitrary`, or give every step along it an output block of its own."
        place = a.place or b.place or _keyword(c.reading, "dimension_semantics")
    return Words(message, hint, ref, place or a.place or b.place)


def _touches(text: str, path: str) -> list[Touch]:
    pattern = r"(read|write) of \('(\w+)', (\d+), \d+, \d+\)\[(.*?)\] from \((\d+), (\d+)\), ([^\n]*)"
    return [
        Touch(m[1], int(m[3]), m[4], int(m[5]), int(m[6]), place_in_text(m[7], path))
        for m in re.finditer(pattern, text)
    ]


def _side(touch: Touch, whole: bool) -> str:
    """One side in words. `whole`: the Ref is an array in HBM, of which no blocks are fetched."""
    where = f" in line {touch.place.line}" if touch.place else ""
    if touch.copy:
        started = f"the copy started{where}" if where else "a copy that a pipeline starts"
        return f"{started}, which {touch.kind}s {shown(touch.span) or 'it'}"
    if whole and not where:
        return "the program round the kernel, before it begins or after it has ended"
    if touch.kind == "write":
        return f"the store{where}" if where else "the pipeline writing a block back"
    return f"the load{where}" if where else "the pipeline fetching a block"


def _keyword(reading: Reading, name: str) -> Place | None:
    found = [k for call in reading.calls("CompilerParams") for k in call.keywords if k.arg == name]
    return place_at(found[0].value) if found else None


ROWS: tuple[Row, ...] = (Row(r"RACE DETECTED", "KT405", race),)
