"""Which block of an array each grid step works on, from the index map's jaxpr and without starting JAX."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tutor.jaxpr.kernels import Mapping
from tutor.jaxpr.scalars import Array, Scope

MAX_STEPS = 4096


def grid_steps(grid: Sequence[int | None], *, max_steps: int = MAX_STEPS) -> Array | None:
    """The program ids of every grid step, in the order in which they run: int32 of shape (steps, rank).

    None if a bound is dynamic or there are more than `max_steps`. No grid is one step of rank 0."""
    sizes = [g for g in grid if g is not None]
    if len(sizes) != len(grid) or prod(sizes) > max_steps:
        return None
    return np.indices(sizes, dtype=np.int32).reshape(len(sizes), -1).T if sizes else np.zeros((1, 0), np.int32)


def block_indices(
    mapping: Mapping,
    grid: Sequence[int | None],
    scalars: Sequence[Array | None] = (),
    *,
    max_steps: int = MAX_STEPS,
) -> Array | None:
    """What the index map returns at every grid step: int64 of shape (steps, rank of the array).

    `scalars` are the contents of the scalar-prefetch operands, in order, None where unknown. The result is None where
    it cannot be known: a dynamic grid, too many steps, a kind of block that counts otherwise, an unknown primitive, or
    a table that is not given or read out of bounds. An entry counts blocks, or elements where `mapping.element` says.
    """
    steps = grid_steps(grid, max_steps=max_steps)
    if steps is None or not mapping.known:
        return None
    jaxpr = mapping.index_map
    ids, tables = jaxpr.invars[: len(grid)], jaxpr.invars[len(grid) :]
    scope = Scope(steps, grid, {v: np.asarray(t) for v, t in zip(tables, scalars, strict=False) if t is not None})
    scope.values.update({v: steps[:, axis] for axis, v in enumerate(ids)})
    columns = scope.evaluate(jaxpr)
    known = [c for c in columns if c is not None]
    if len(known) < len(mapping.sizes):
        return None
    out = np.empty((len(steps), len(known)), np.int64)
    for i, column in enumerate(known):
        out[:, i] = column
    return out


def block_starts(mapping: Mapping, indices: Array) -> Array:
    """The first element of each block: shape (steps, rank), as `block_indices` gives."""
    scale = np.where(mapping.element, 1, mapping.sizes) if mapping.sizes else np.ones(0)
    return indices * scale.astype(np.int64)
