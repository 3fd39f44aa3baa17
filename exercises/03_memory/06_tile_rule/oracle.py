"""Inputs and expected result of `head_scale`."""

import ml_dtypes
import numpy as np

from tutor.findings import finding

TILE_ROWS = 16


def make_inputs(rng, case):
    """Standard normal x (t, h, d), rounded to bfloat16, and s (h, 1) between 0.5 and 2."""
    x, s = case.inputs
    return {
        "x": rng.standard_normal(x.shape).astype(ml_dtypes.bfloat16),
        "s": rng.uniform(0.5, 2, s.shape).astype(np.float32),
    }


def expected(inputs, case):
    return inputs["x"].astype(np.float64) * inputs["s"]


def check(facts):
    """Blocks of x have whole native tiles: 16 rows, or all there are."""
    found = []
    for kernel in facts.kernels:
        for operand in kernel.kernel.operands:
            block = operand.block_shape
            if operand.argument != "x" or not block or len(block) < 2:
                continue
            rows = block[-2] or 1
            if rows % TILE_ROWS and rows % 8 == 0 and rows < operand.shape[-2]:
                message = f"Blocks of {operand.name} have {rows} rows; a tile of {operand.dtype} has {TILE_ROWS}."
                found.append(finding("KT314", message, line=kernel.line, ref=operand.name, case=facts.case))
    return found
