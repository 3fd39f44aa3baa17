"""Walking a grid: which block every operand has at which step, and when blocks move between HBM and the chip.

Steps are numbered from 0 in the order in which a TPU core runs them: the last grid axis moves fastest. Everything here
is arithmetic on NumPy arrays; grids of a million steps are never listed one by one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

type Index = tuple[int, ...]
type Movement = Literal["fetched", "reused", "opened", "kept"]


def step_count(grid: Sequence[int]) -> int:
    """How many steps a grid has; no grid is one step."""
    return math.prod(grid)


def grid_index(step: int, grid: Sequence[int]) -> Index:
    """The grid index (the `program_id`s) of a step."""
    if not 0 <= step < step_count(grid):
        raise IndexError(f"step {step} is outside a grid of {step_count(grid)} steps")
    index = []
    for size in reversed(grid):
        step, i = divmod(step, size)
        index.append(i)
    return tuple(reversed(index))


def step_number(index: Sequence[int], grid: Sequence[int]) -> int:
    """The step that has this grid index."""
    if len(index) != len(grid) or not all(0 <= i < n for i, n in zip(index, grid, strict=True)):
        raise IndexError(f"{tuple(index)} is outside the grid {tuple(grid)}")
    step = 0
    for i, size in zip(index, grid, strict=True):
        step = step * size + i
    return step


@dataclass(frozen=True, eq=False)
class OperandWalk:
    """One blocked operand over the whole grid.

    `blocks` is int[steps, ndim]: what the index map gives at each step, one entry for each dimension of the array.
    `block_shape` has 1 where a dimension is squeezed. `element[d]` says that the index map counts elements there.
    `item_bytes` is the size of one element in bytes."""

    grid: Index
    array_shape: Index
    block_shape: Index
    blocks: NDArray[np.integer]
    output: bool
    item_bytes: float = 4
    element: tuple[bool, ...] = ()

    def block(self, step: int) -> Index:
        """The block index at a step."""
        return tuple(int(i) for i in self.blocks[step])

    def movement(self, step: int) -> Movement:
        """What happens before the step: an input block is fetched or reused, an output block opened or kept."""
        if self.starts_run[step]:
            return "opened" if self.output else "fetched"
        return "kept" if self.output else "reused"

    def written_back(self, step: int) -> bool:
        """Whether the step is the last before this output block goes back to HBM."""
        return self.output and (step == len(self.blocks) - 1 or bool(self.starts_run[step + 1]))

    @cached_property
    def starts_run(self) -> NDArray[np.bool_]:
        """bool[steps]: the block is another one than at the step before (true at the first step)."""
        changed = np.ones(len(self.blocks), bool)
        changed[1:] = (self.blocks[1:] != self.blocks[:-1]).any(axis=1)
        return changed

    @property
    def transfers(self) -> int:
        """How many blocks move: fetches of an input, write-backs of an output."""
        return int(self.starts_run.sum())

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """int[steps, ndim]: the first element of the block at each step."""
        element = np.array(self.element or (False,) * len(self.array_shape), bool)
        return self.blocks.astype(np.int64) * np.where(element, 1, np.array(self.block_shape, np.int64))

    def bytes_moved(self) -> int:
        """Bytes between HBM and the chip over the whole grid. The part of a block beyond the array does not move."""
        first = self.starts[self.starts_run]
        inside = np.minimum(first + np.array(self.block_shape), np.array(self.array_shape)) - np.maximum(first, 0)
        return math.ceil(int(np.maximum(inside, 0).prod(axis=1).sum()) * self.item_bytes)

    def least_bytes(self) -> int:
        """Bytes if every block that is visited moved once only."""
        first = self._distinct
        inside = np.minimum(first + np.array(self.block_shape), np.array(self.array_shape)) - np.maximum(first, 0)
        return math.ceil(int(np.maximum(inside, 0).prod(axis=1).sum()) * self.item_bytes)

    @property
    def least_moves(self) -> int:
        """How many blocks would move if every block that is visited moved once only."""
        return len(self._distinct)

    @cached_property
    def _distinct(self) -> NDArray[np.int64]:
        """int[blocks, ndim]: the first element of every block that is visited, each once."""
        found = self.starts[self.starts_run]
        if not found.size:
            return found[:1]
        low = found.min(axis=0)
        # One number a row: sorting rows takes many times longer than sorting numbers.
        extent = [int(n) for n in found.max(axis=0) - low + 1]
        weights = [math.prod(extent[d + 1 :]) for d in range(len(extent))]
        if math.prod(extent) >= 2**63:
            return np.unique(found, axis=0)
        _, places = np.unique((found - low) @ np.array(weights, np.int64), return_index=True)
        return found[places]

    @property
    def block_grid(self) -> Index:
        """How many blocks cover the array, in each dimension."""
        return tuple(-(-n // b) for n, b in zip(self.array_shape, self.block_shape, strict=True))

    @cached_property
    def visits(self) -> NDArray[np.int64]:
        """int[block_grid]: how often each block becomes the current one. Not for maps that count elements."""
        self._must_count_blocks()
        counts = np.zeros(self.block_grid, np.int64)
        runs = self.blocks[self.starts_run]
        inside = ((runs >= 0) & (runs < np.array(self.block_grid))).all(axis=1)
        np.add.at(counts, tuple(runs[inside].T), 1)
        return counts

    def never_visited(self, most: int | None = None) -> list[Index]:
        """Blocks of the array that no step has, in row-major order, at most `most` of them."""
        return _indices(self.visits == 0, most)

    def revisited(self, most: int | None = None) -> list[Index]:
        """Blocks that become current again after another block was, at most `most` of them."""
        return _indices(self.visits > 1, most)

    def out_of_range(self) -> int | None:
        """The first step whose block lies wholly outside the array, if there is one."""
        first = self.starts
        outside = ((first >= np.array(self.array_shape)) | (first + np.array(self.block_shape) <= 0)).any(axis=1)
        return int(outside.argmax()) if outside.any() else None

    def _must_count_blocks(self) -> None:
        if any(self.element):
            raise ValueError("the index map counts elements, so the array has no fixed grid of blocks")


def step_that_wrote(operand: OperandWalk, element: Sequence[int]) -> tuple[Index, Index] | None:
    """The block that holds an element of an output and the grid index of the last step that had this block.

    None if no step ever had it."""
    at = np.array(element, np.int64)
    if at.shape != (len(operand.array_shape),):
        raise IndexError(f"{tuple(element)} is not an index of an array of rank {len(operand.array_shape)}")
    holds = ((operand.starts <= at) & (at < operand.starts + np.array(operand.block_shape))).all(axis=1)
    if not holds.any():
        return None
    step = len(holds) - 1 - int(holds[::-1].argmax())
    return operand.block(step), grid_index(step, operand.grid)


type Terms = list[list[list[int]]]
_SHORT = 4096


def find_law(blocks: NDArray[np.integer], grid: Sequence[int]) -> tuple[list[int], Terms] | None:
    """`blocks` (int[steps, ndim]) as a sum of one share for each grid axis, or None if they are no such sum.

    The answer is what `follow_law` takes: a base for each dimension, and for each dimension and axis one slope, or one
    number for each index on that axis (of at most 4,096)."""
    rank = blocks.shape[1]
    cube = blocks.astype(np.int64).reshape(*grid, rank)
    base = cube[(0,) * len(grid)]
    total = np.broadcast_to(base, cube.shape).copy()
    terms: Terms = [[] for _ in range(rank)]
    for axis, size in enumerate(grid):
        line = np.moveaxis(cube, axis, 0).reshape(size, len(blocks) // size, rank)[:, 0] - base
        total += line.reshape(*(size if k == axis else 1 for k in range(len(grid))), rank)
        for d in range(rank):
            slope = int(line[1, d]) if size > 1 else 0
            straight = bool((line[:, d] == slope * np.arange(size)).all())
            if not straight and size > _SHORT:
                return None
            terms[d].append([slope] if straight else line[:, d].tolist())
    return (base.tolist(), terms) if bool((total == cube).all()) else None


def follow_law(base: Sequence[int], terms: Terms, grid: Sequence[int]) -> NDArray[np.int64]:
    """The blocks of every step, int64[steps, ndim], from what `find_law` gave.

    Raises ValueError if the terms do not fit the grid."""
    cube = np.empty((*grid, len(base)), np.int64)
    cube[...] = np.asarray(base, np.int64)
    for d, shares in enumerate(terms):
        for axis, (share, size) in enumerate(zip(shares, grid, strict=True)):
            line = share[0] * np.arange(size) if len(share) == 1 else np.asarray(share, np.int64)
            if len(line) != size:
                raise ValueError(f"{len(line)} shares for a grid axis of {size}")
            cube[..., d] += line.reshape([size if k == axis else 1 for k in range(len(grid))])
    return cube.reshape(step_count(grid), len(base))


def _indices(mask: NDArray[np.bool_], most: int | None) -> list[Index]:
    found = np.flatnonzero(mask)[:most]
    where = np.stack(np.unravel_index(found, mask.shape), axis=-1) if mask.ndim else np.zeros((len(found), 0), int)
    return [tuple(int(i) for i in row) for row in where]
