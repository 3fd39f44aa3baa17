"""Inputs and expected result of `exp_add`."""

import numpy as np


def make_inputs(rng, case):
    """Standard normal x and y (m, n), float32."""
    return {spec.name: rng.standard_normal(spec.shape).astype(np.float32) for spec in case.inputs}


def expected(inputs, case):
    """exp(x) + y in float64."""
    return np.exp(inputs["x"].astype(np.float64)) + inputs["y"]
