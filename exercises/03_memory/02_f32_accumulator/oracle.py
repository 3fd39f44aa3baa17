"""Inputs and expected result of `matmul`."""

import ml_dtypes
import numpy as np


def make_inputs(rng, case):
    """Standard normal a (m, k) and b (k, n), rounded to bfloat16."""
    return {spec.name: rng.standard_normal(spec.shape).astype(ml_dtypes.bfloat16) for spec in case.inputs}


def expected(inputs, case):
    """The product in float64; float32 and then bfloat16 cannot be nearer to it than one rounding."""
    return inputs["a"].astype(np.float64) @ inputs["b"].astype(np.float64)
