"""The access table as data: what a grid step does with each Ref, on which unit, and what the pipeline moves for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tutor.protocol import Access, AccessKind, JaxprLine, Kernel, KernelFacts, MarkedJaxpr, Staged
from tutor.tui.text import many

GROUPS: dict[AccessKind, str] = {"load": "L", "store": "S", "accumulate": "A", "copy_start": "C"}
LANES, SUBLANES = 128, 8


@dataclass(frozen=True)
class RefRow:
    """One Ref of a kernel and what a grid step does with it. A count of None depends on data.

    `work` says which unit does it and how much of it; `staged` is what the pipeline moves over the whole grid, None
    where it moves nothing or that is not known."""

    ref: str
    role: str
    space: str
    shape: list[int]
    dtype: str
    block: list[int | None] | None
    counts: dict[str, int | None]
    bytes_per_step: int | None
    work: str = ""
    staged: Staged | None = None


def ref_rows(kernel: Kernel, facts: KernelFacts | None = None) -> list[RefRow]:
    """The access table of one kernel, in the order of its operands; Refs made inside the body come last."""
    named = {operand.name for operand in kernel.operands}
    inner = {access.ref: access for access in kernel.accesses if access.ref not in named}
    rows: list[tuple[str, str, str, list[int], str, list[int | None] | None]]
    rows = [(o.name, o.role, o.space, o.shape, o.dtype, o.block_shape) for o in kernel.operands]
    rows += [(a.ref, "inner", a.space, a.shape, a.dtype, None) for a in inner.values()]
    staged = {each.operand: each for each in facts.staged} if facts else {}
    result = []
    for name, role, space, shape, dtype, block in rows:
        mine = [a for a in kernel.accesses if a.ref == name]
        tally = {key: total([a.per_step for a in mine if a.kind == kind]) for kind, key in GROUPS.items()}
        moved = total([a.bytes_per_step for a in mine if a.kind in GROUPS])
        result.append(RefRow(name, role, space, shape, dtype, block, tally, moved, work(space, mine), staged.get(name)))
    return result


def total(numbers: Sequence[int | None]) -> int | None:
    """The sum, or None if any part depends on data."""
    return None if None in numbers else sum(number or 0 for number in numbers)


# ---------------------------------------------------------------- which unit works


def work(space: str, accesses: Sequence[Access]) -> str:
    """What one grid step's loads and stores cost, in words: `scalar core`, `4 tiles`, `1 tile for 1 value`."""
    touched = [a for a in accesses if a.kind in ("load", "store", "accumulate")]
    if not touched:
        return "DMA" if any(a.kind == "copy_start" for a in accesses) else ""
    if space == "smem":
        return "scalar core"
    if space != "vmem":
        return ""
    tiles = total([None if a.per_step is None else a.per_step * tiles_of(a.shape, a.dtype) for a in touched])
    values = total([None if a.per_step is None else a.per_step * math.prod(a.shape) for a in touched])
    words = many(tiles, "tile")
    # A tile is worked on whole, however few of its elements are wanted: say so where nearly all is for nothing.
    if tiles and values is not None and values * 64 <= tiles * LANES * SUBLANES:
        words += f" for {many(values, 'value')}"
    return words


def tiles_of(shape: Sequence[int], dtype: str) -> int:
    """How many vector registers a value fills: tiles of 8 by 128 words of 32 bits, narrower dtypes packed in rows."""
    rows, lanes = ([1, 1, *shape])[-2:]
    sublanes = SUBLANES * max(1, 32 // _bits(dtype))
    return math.prod(shape[:-2]) * -(-rows // sublanes) * -(-lanes // LANES)


def _bits(dtype: str) -> int:
    digits = "".join(c for c in dtype.partition("_")[0] if c.isdigit())
    return int(digits) if digits else 32


# ---------------------------------------------------------------- loads that could be shared


@dataclass(frozen=True)
class Shared:
    """Two loads of the same elements of one Ref with no store between them: jaxpr lines (0-based), source lines."""

    ref: str
    first: int
    again: int
    first_source: int | None
    again_source: int | None


def shareable(jaxpr: MarkedJaxpr) -> list[Shared]:
    """Loads that could use what an earlier load of the same body has read."""
    known: dict[tuple[int | None, str, str], tuple[int, JaxprLine]] = {}
    found = []
    for number, (text, line) in enumerate(zip(jaxpr.text.split("\n"), jaxpr.lines, strict=False)):
        # What was read in a body that has ended may not have been read at all.
        known = {key: seen for key, seen in known.items() if seen[1].depth <= line.depth}
        if line.ref is None or line.kind is None:
            continue
        if line.kind != "load":
            # A copy or a semaphore may let others write to any Ref.
            known = {
                key: seen
                for key, seen in known.items()
                if line.kind in ("store", "accumulate") and key[:2] != (line.kernel, line.ref)
            }
            continue
        key = (line.kernel, line.ref, text.partition(" <- ")[2])
        seen = known.get(key)
        if seen is not None and seen[1].depth == line.depth and key[2]:
            found.append(Shared(line.ref, seen[0], number, seen[1].source_line, line.source_line))
        else:
            known[key] = (number, line)
    return found


def notes(jaxpr: MarkedJaxpr) -> list[str]:
    """Words for `shareable`, one line a Ref and pair of source lines."""
    said: dict[str, None] = {}
    for pair in shareable(jaxpr):
        lines = sorted({n for n in (pair.first_source, pair.again_source) if n is not None})
        where = f"line{'s' if len(lines) > 1 else ''} {' and '.join(map(str, lines))}"
        place = f" ({where})" if lines else ""
        said[f"{pair.ref} is loaded twice, the same elements{place}: one load, kept in a variable, is enough."] = None
    return list(said)
