"""Where in an array something is: a bounding box, whole blocks, only the edge."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from tutor.judge.tolerance import Array

type Block = tuple[int, ...]

MOSTLY = 0.9
"""The part of a block that must be bad for the block to count as bad as a whole (chance hits leave some right)."""


def box(mask: Array) -> tuple[slice, ...]:
    """The smallest box that holds all marked elements."""
    sides = []
    for axis in range(mask.ndim):
        along = mask.any(axis=tuple(a for a in range(mask.ndim) if a != axis))
        marked = np.flatnonzero(along)
        sides.append(slice(int(marked[0]), int(marked[-1]) + 1))
    return tuple(sides)


def region(mask: Array) -> str:
    """The box of the marked elements in words, and how full it is."""
    if mask.ndim == 0:
        return "the single element"
    inside = box(mask)
    shown = "[" + ", ".join(_side(s, n) for s, n in zip(inside, mask.shape, strict=True)) + "]"
    full = mask[inside].mean()
    if full > 0.999:
        return f"the part {shown}"
    return f"scattered over {shown}" if full < 0.5 else f"most of {shown}"


def blocks_of(shape: Sequence[int], block: Sequence[int]) -> dict[Block, tuple[slice, ...]]:
    """Every block of an array, the partial ones too, with the slices that cut it out."""
    counts = [range(-(-n // b)) for n, b in zip(shape, block, strict=True)]
    return {
        index: tuple(slice(i * b, (i + 1) * b) for i, b in zip(index, block, strict=True))
        for index in itertools.product(*counts)
    }


def whole_blocks(mask: Array, block: Sequence[int], limit: int = 4096) -> tuple[list[Block], int] | None:
    """The blocks that are marked as a whole and how many there are, if no other block is marked at all."""
    cuts = blocks_of(mask.shape, block)
    if len(cuts) < 2 or len(cuts) > limit:
        return None
    marked = []
    for index, cut in cuts.items():
        share = float(mask[cut].mean())
        if share >= MOSTLY:
            marked.append(index)
        elif share > 0:
            return None
    return (marked, len(cuts)) if 0 < len(marked) < len(cuts) else None


def only_edge(mask: Array, block: Sequence[int] | None) -> str | None:
    """If the marked elements all lie at the end of one axis, that end in words.

    With a block shape the end is the last, partial block (lengths that are not a multiple); without one it is the last
    quarter at most."""
    if mask.ndim == 0 or not mask.any() or mask.all():
        return None
    inside = box(mask)
    for axis, (side, length) in enumerate(zip(inside, mask.shape, strict=True)):
        if side.stop != length:
            continue
        if block is not None:
            rest = length % block[axis]
            at_end = bool(rest) and length > block[axis] and side.start >= length - rest
        else:
            at_end = side.start >= length - max(length // 4, 1) and side.start > 0
        if at_end:
            edge = (
                f"indices {side.start} to {length - 1} of axis {axis}"
                if side.stop - side.start > 1
                else (f"index {side.start} of axis {axis}")
            )
            if block is not None:
                edge += f", where {length} is not a multiple of the block's {block[axis]}"
            return edge
    return None


def _side(side: slice, length: int) -> str:
    return ":" if (side.start, side.stop) == (0, length) else f"{side.start}:{side.stop}"
