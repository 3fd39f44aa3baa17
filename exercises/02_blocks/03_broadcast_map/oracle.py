"""Inputs and expected result of `add_bias`."""

import numpy as np


def make_inputs(rng, case):
    """Standard normal x (m, n) and bias (1, n)."""
    return {spec.name: rng.standard_normal(spec.shape).astype(np.float32) for spec in case.inputs}


def expected(inputs, case):
    return inputs["x"].astype(np.float64) + inputs["bias"]
