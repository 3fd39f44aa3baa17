"""What a kernel moves between HBM and the chip over its whole grid: staged blocks and the body's own copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tutor.grid_walk import OperandWalk
from tutor.jaxpr.arrays import Array
from tutor.jaxpr.compat import Var
from tutor.jaxpr.index_maps import block_indices
from tutor.jaxpr.kernels import KernelParts
from tutor.jaxpr.nest import Level, Node, item_bytes, per_step, view_bytes
from tutor.jaxpr.replay import copies_started

MOST_STEPS = 2_000_000
"""Grids beyond this are not walked; their traffic is unknown."""

OFF_CHIP = ("any", "hbm")


class Traffic(NamedTuple):
    """Bytes from HBM (`read`) and to HBM (`written`) over the whole grid, None where data decides."""

    read: int | None
    written: int | None


def operand_walk(
    parts: KernelParts, ref: Var, grid: Sequence[int | None], tables: Sequence[Array | None] = ()
) -> OperandWalk | None:
    """The walk of one blocked operand, or None: not blocked, or its index map cannot be worked out.

    `tables` are the contents of the scalar-prefetch operands, None where unknown."""
    mapping = parts.mapping(ref)
    if mapping is None or mapping.space in OFF_CHIP:
        return None
    sizes = tuple(g for g in grid if g is not None)
    blocks = block_indices(mapping, grid, tables, max_steps=MOST_STEPS)
    if blocks is None:
        return None
    return OperandWalk(
        sizes, mapping.array_shape, mapping.sizes, blocks, ref in parts.outputs, item_bytes(mapping.dtype),
        mapping.element,
    )  # fmt: skip


def operand_walks(
    parts: KernelParts, grid: Sequence[int | None], tables: Sequence[Array | None]
) -> dict[Var, OperandWalk]:
    """The walks of all blocked operands that can be worked out."""
    found = {ref: operand_walk(parts, ref, grid, tables) for ref in parts.inputs + parts.outputs}
    return {ref: walk for ref, walk in found.items() if walk is not None}


def traffic(
    level: Level,
    parts: KernelParts,
    grid: Sequence[int | None],
    steps: int | None,
    values: Sequence[Array | None],
    walks: Mapping[Var, OperandWalk],
) -> Traffic:
    """Block fetches whose index changed (the first counts), write-backs, and copies from or to HBM or ANY.

    The part of a block that lies beyond its array does not count. Scalar-prefetch operands are no blocks and do not
    count. Copies count as often as they really run where that follows from the grid and the tables, else in every step
    with the largest branch of each `cond`. `values` are the contents of the operands, None where unknown; `walks` those
    of the blocked operands."""
    read, written = _copies(level, parts, grid, steps, values)
    for ref in parts.inputs + parts.outputs:
        mapping = parts.mapping(ref)
        if mapping is None or mapping.space in (*OFF_CHIP, "semaphore"):
            continue
        walk = walks.get(ref)
        moved = None if walk is None else walk.bytes_moved()
        if ref in parts.outputs:
            written = None if written is None or moved is None else written + moved
        else:
            read = None if read is None or moved is None else read + moved
    return Traffic(read, written)


def _copies(
    level: Level, parts: KernelParts, grid: Sequence[int | None], steps: int | None, values: Sequence[Array | None]
) -> Traffic:
    if not any(node.touch and node.touch.kind == "copy_start" for node in level.walk()):
        return Traffic(0, 0)
    started = copies_started(level, parts, grid, values)
    if started is None:
        read, written = per_step(level, _from_hbm), per_step(level, _to_hbm)
        return Traffic(
            None if steps is None or read is None else steps * read,
            None if steps is None or written is None else steps * written,
        )
    read = written = 0
    for node, times in started:
        read = _plus(read, _from_hbm(node), times)
        written = _plus(written, _to_hbm(node), times)
    return Traffic(read, written)


def _plus(total: int | None, size: int | None, times: int) -> int | None:
    if not times:
        return total
    return None if total is None or size is None else total + size * times


def _from_hbm(node: Node) -> int | None:
    touch = node.touch
    if touch is None or touch.kind != "copy_start" or touch.ref.space not in OFF_CHIP:
        return 0
    return view_bytes(touch.view)


def _to_hbm(node: Node) -> int | None:
    touch = node.touch
    if touch is None or touch.kind != "copy_start" or touch.to is None or touch.to.space not in OFF_CHIP:
        return 0
    assert touch.to_view is not None
    return view_bytes(touch.to_view)
