"""Inputs and expected result of `normalize`."""

import numpy as np

EPSILON = 1e-5


def make_inputs(rng, case):
    """x (m, n), float32. Every row has a mean and a spread of its own; in every fourth row both are so small that
    EPSILON decides."""
    (spec,) = case.inputs
    rows = (spec.shape[0], 1)
    mean, spread = rng.uniform(-3, 3, rows), rng.uniform(0.5, 2, rows)
    mean[3::4], spread[3::4] = 0.001, 0.003
    return {"x": (mean + spread * rng.standard_normal(spec.shape)).astype(np.float32)}


def expected(inputs, case):
    """Rows of mean 0 and variance 1, in float64."""
    x = inputs["x"].astype(np.float64)
    centered = x - x.mean(axis=-1, keepdims=True)
    return centered / np.sqrt((centered**2).mean(axis=-1, keepdims=True) + EPSILON)
