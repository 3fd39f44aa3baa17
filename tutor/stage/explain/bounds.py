"""Words for accesses and blocks outside their memory, and for blocks that come back (KT402, KT403, KT404, KT408)."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import NamedTuple

from tutor.stage.explain.blocks import name_of_origin, spec_place
from tutor.stage.explain.reading import Reading, base_name, place_at
from tutor.stage.explain.table import Clue, Row, Words, code_name
from tutor.stage.explain.where import Place


def block_outside(c: Clue) -> Words:
    side, name = c.group("side"), c.group("name")
    block, shape = _ints(c.group("block")), _ints(c.group("shape"))
    spans = _slices(c.group("range"))
    axis = next((d for d, (s, n) in enumerate(zip(spans, shape, strict=False)) if s.stop > n or s.start < 0), None)
    detail, hint = "", "Let the index map return block numbers that lie inside the array."
    if axis is not None and axis < len(block):
        span, length = spans[axis], shape[axis]
        size = max(span.stop - span.start, 1)
        last = -(-length // size) - 1
        detail = (
            f" Block {block[axis]} on axis {axis} would begin at element {span.start}, but the array is {length} long "
            f"there: with blocks of {size} its blocks are 0 to {last}."
        )
        if size > 1 and block[axis] and block[axis] % size == 0:
            detail += " The map seems to return the element where the block begins; it must return the block's number."
            hint = f"Return the block number (such as `j`), not `j * {size}`: the block size is multiplied in for you."
    place = _spec_of(c.reading, name)
    step = f" at grid step {c.group('step')}" if c.group("step") != "()" else ""
    return Words(
        f"The index map of the {side} `{name}` gives block {c.group('block')}{step}, which lies outside the array."
        + detail,
        hint,
        name,
        place,
    )


def read_outside(c: Clue) -> Words:
    return _outside(c, "reads", "KT402")


def write_outside(c: Clue) -> Words:
    return _outside(c, "writes", "KT403")


def _outside(c: Clue, verb: str, code: str) -> Words:
    ref = c.names.buffers.get(int(c.group("id")))
    reading_ref = c.reading.loaded_ref(c.place) if verb == "reads" else c.reading.stored_ref(c.place)
    ref = ref or reading_ref
    shape, spans = _ints(c.group("shape")), _slices(c.group("range"))
    axis = next((d for d, (s, n) in enumerate(zip(spans, shape, strict=False)) if s.stop > n or s.start < 0), None)
    subject = code_name(ref, f"a buffer in {c.group('space')}")
    what = f"The kernel {verb} {subject} out of bounds: {_shown(spans)} of shape {c.group('shape')}."
    if axis is not None and len(spans) == len(shape):
        s = spans[axis]
        touched = f"element {s.start}" if s.stop - s.start == 1 else f"elements {s.start} to {s.stop - 1}"
        what += f" On axis {axis} it touches {touched}, but the length there is {shape[axis]}."
    what += (
        " Interpret mode moves such an access back inside and goes on with wrong numbers; a chip touches memory that"
    )
    what += " belongs to something else."
    place = c.place or _access_place(c.reading, ref, storing=verb == "writes")
    return Words(
        what,
        "Check the index against the block's length: the last step may reach too far, or a length is not a multiple.",
        ref,
        place,
        code,
    )


def revisited(c: Clue) -> Words:
    number, now, first = int(c.group("output")), _ints(c.group("now")), _ints(c.group("first"))
    ref = c.names.outputs[number] if number < len(c.names.outputs) else None
    axes = [d for d, (a, b) in enumerate(zip(now, first, strict=False)) if a != b]
    block = _shown(_slices(c.group("block")))
    message = (
        f"The block {block} of {code_name(ref, f'output {number}')} was written at grid step {c.group('first')}, left "
        f"for other blocks, and comes back at step {c.group('now')}. When a block is left it is copied out to HBM; "
        "when it comes back it is not fetched again, so what it held is gone."
    )
    hint = "Order the grid so that all steps of one output block follow each other."
    if axes and len(now) > 1:
        axis = axes[0]
        message += f" It is grid axis {axis} that returns to the block, and the axes after it have moved on in between."
        hint = f"Make grid axis {axis} the last one: the last axis moves fastest, so a reduction belongs there."
    place = _spec_of(c.reading, ref)
    return Words(message, hint, ref, place)


class Span(NamedTuple):
    """A part of one axis, from `start` to before `stop`."""

    start: int
    stop: int


def _ints(text: str) -> list[int]:
    return [int(n) for n in re.findall(r"-?\d+", text)]


def _slices(text: str) -> list[Span]:
    """`(slice(0, 8, 1), 5)` as spans, in order."""
    found = []
    for m in re.finditer(r"slice\((-?\d+), (-?\d+)(?:, -?\d+)?\)|(-?\d+)", text):
        found.append(Span(int(m[3]), int(m[3]) + 1) if m[3] else Span(int(m[1]), int(m[2])))
    return found


def shown(text: str) -> str:
    """`[0:8, 5]` for `slice(0, 8, 1), 5`; empty where it is something else."""
    spans = _slices(text)
    return _shown(spans) if spans else ""


def _shown(spans: Sequence[Span]) -> str:
    return "[" + ", ".join(str(s.start) if s.stop - s.start == 1 else f"{s.start}:{s.stop}" for s in spans) + "]"


def _spec_of(reading: Reading, ref: str | None) -> Place | None:
    """The spec of the operand whose ref has this name."""
    for side in ("args", "outputs"):
        for i in range(16):
            for origin in (f"{side}[{i}]", side) if i == 0 else (f"{side}[{i}]",):
                if ref is not None and name_of_origin(reading, None, origin) == ref:
                    return spec_place(reading, None, origin)
    return None


def _access_place(reading: Reading, ref: str | None, *, storing: bool) -> Place | None:
    """The only place in the source that stores to (or loads from) the ref."""
    wanted = ast.Store if storing else ast.Load
    found: list[ast.expr] = [
        n
        for n in ast.walk(reading.tree)
        if isinstance(n, ast.Subscript) and isinstance(n.ctx, wanted) and base_name(n) == ref
    ]
    calls = reading.calls("load", "store", "swap", "addupdate", "sync_copy", "async_copy", "make_async_copy")
    found += [c for c in calls if any(base_name(a) == ref for a in c.args)]
    one_line = len({n.lineno for n in found}) == 1
    return place_at(found[0]) if one_line and ref is not None else None


ROWS: tuple[Row, ...] = (
    Row(
        r"Out-of-bounds block index (?P<block>\(.*?\)) for (?P<side>input|output) \"(?P<name>\w+)\" in iteration "
        r"(?P<step>\(.*?\)) .*?\[(?P<range>.*?)\] but \w+ has shape (?P<shape>\(.*?\))",
        "KT404",
        block_outside,
    ),
    Row(
        r"Out-of-bounds read of \(\d+ \d+ (?P<space>\w+) (?P<id>\d+)\): reading \[(?P<range>.*?)\] but buffer has "
        r"shape (?P<shape>\(.*?\))",
        "KT402",
        read_outside,
    ),
    Row(
        r"Out-of-bounds (?:masked )?(?:write|swap) of \(\d+ \d+ (?P<space>\w+) (?P<id>\d+)\): "
        r"\w+ \[(?P<range>.*?)\] but buffer has shape (?P<shape>\(.*?\))",
        "KT403",
        write_outside,
    ),
    Row(
        r"Revisited block (?P<block>.*?) of output (?P<output>\d+) in iteration (?P<now>\(.*?\))\. .*?in iterations "
        r"(?P<first>\(.*?\)) through",
        "KT408",
        revisited,
    ),
)
