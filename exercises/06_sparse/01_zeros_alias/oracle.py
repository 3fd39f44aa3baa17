"""Inputs and expected result of `block_sparse_matmul`."""

import ml_dtypes
import numpy as np


def make_inputs(rng, case):
    """`nnz` random blocks, sorted by block row; every block row that may have blocks has one, as far as they go."""
    sizes = case.sizes
    nnz = sizes["nnz"]
    allowed = [row for row in range(sizes["first_row"], sizes["stop_row"]) if row != sizes["empty_row"]]
    once = rng.permutation(allowed)[:nnz]
    rows = np.sort(np.concatenate([once, rng.choice(allowed, size=nnz - len(once))])).astype(np.int32)
    shapes = {spec.name: spec.shape for spec in case.inputs}
    return {
        "rows": rows,
        "cols": rng.integers(sizes["k"] // sizes["bk"], size=nnz, dtype=np.int32),
        "blocks": rng.standard_normal(shapes["blocks"]).astype(ml_dtypes.bfloat16),
        "dense": rng.standard_normal(shapes["dense"]).astype(ml_dtypes.bfloat16),
    }


def expected(inputs, case):
    """The sum of block times its rows of dense, in float64. Two blocks at one place add up."""
    _, bm, bk = inputs["blocks"].shape
    dense = inputs["dense"].astype(np.float64)
    out = np.zeros((case.sizes["m"], case.sizes["n"]))
    for row, col, block in zip(inputs["rows"], inputs["cols"], inputs["blocks"].astype(np.float64), strict=True):
        out[row * bm : (row + 1) * bm] += block @ dense[col * bk : (col + 1) * bk]
    return out
