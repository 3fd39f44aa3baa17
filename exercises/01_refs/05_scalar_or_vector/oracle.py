"""Inputs and expected result of `scale_shift`."""

import numpy as np


def make_inputs(rng, case):
    """Standard normal x (m, n); s and t are single numbers of different size. All float32."""
    return {
        "x": rng.standard_normal(case.inputs[0].shape).astype(np.float32),
        "s": np.float32(rng.uniform(1.5, 3.0)),
        "t": np.float32(rng.uniform(-1.0, -0.2)),
    }


def expected(inputs, case):
    """x * s + t in float64."""
    return inputs["x"].astype(np.float64) * inputs["s"] + inputs["t"]
