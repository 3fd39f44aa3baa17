"""Inputs and expected result of `chunked_sum`."""

import ml_dtypes
import numpy as np


def make_inputs(rng, case):
    """Normal x (k, n) with a mean of its own for every column, so that sums have a trend."""
    k, n = case.inputs[0].shape
    mean = rng.uniform(0.2, 1.0, n) * rng.choice([-1, 1], n)
    return {"x": (rng.standard_normal((k, n)) + mean).astype(ml_dtypes.bfloat16)}


def expected(inputs, case):
    return inputs["x"].astype(np.float64).sum(axis=0, keepdims=True)
