"""Where an output is wrong, in cells coarse enough for a screen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tutor.judge.tolerance import Array, Measured
from tutor.protocol import ErrorMap

MOST_CELLS = 32
"""The most cells in one direction."""


def error_map(output: int, measured: Measured, block: Sequence[int] | None) -> ErrorMap | None:
    """The error of one output by cell; None for an output without elements.

    A cell is a block where `block` gives the shape of one (squeezed dimensions are 1), or several whole blocks where
    there are too many of them."""
    shape = measured.got.shape
    if not measured.got.size:
        return None
    rows, columns = int(np.prod(shape[:-1], dtype=np.int64)), shape[-1] if shape else 1
    height, width = _block(shape, block)
    height = _coarse(height, rows)
    width = _coarse(width, columns)
    with np.errstate(invalid="ignore"):
        error = np.abs(measured.got - measured.want)
    error = np.where((measured.got == measured.want) | (np.isnan(measured.got) & np.isnan(measured.want)), 0.0, error)
    starts = np.arange(0, rows, height), np.arange(0, columns, width)
    bad = _by_cell(np.add, measured.bad.reshape(rows, columns).astype(np.int64), *starts)
    worst = _by_cell(np.maximum, error.reshape(rows, columns), *starts)
    return ErrorMap(
        output=output,
        cell=[height, width],
        bad=bad.tolist(),
        worst=[[float(x) if np.isfinite(x) else None for x in row] for row in worst],
    )


def _block(shape: Sequence[int], block: Sequence[int] | None) -> tuple[int, int]:
    """The rows and columns of one block in the matrix; single elements where blocks are no rectangles in it."""
    if block is None or len(block) != len(shape) or not shape:
        return 1, 1
    inner = len(shape) - 1
    height = 1
    for d in reversed(range(inner)):
        height *= min(block[d], shape[d])
        if block[d] < shape[d]:
            # The rows of one block are neighbours only if all further out have one.
            return (height if all(size == 1 for size in block[:d]) else 1), min(block[-1], shape[-1])
    return height, min(block[-1], shape[-1])


def _coarse(size: int, total: int) -> int:
    """`size`, or the smallest multiple of it that needs no more than `MOST_CELLS` cells for `total`."""
    cells = -(-total // size)
    return size * -(-cells // MOST_CELLS)


def _by_cell(combine: np.ufunc, matrix: Array, down: Array, right: Array) -> Array:
    found: Array = combine.reduceat(combine.reduceat(matrix, down, axis=0), right, axis=1)
    return found
