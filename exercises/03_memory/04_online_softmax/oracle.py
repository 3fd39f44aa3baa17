"""Inputs and expected result of `logsumexp`."""

import numpy as np


def make_inputs(rng, case):
    """x (m, k): normal numbers around a middle of each row between -300 and 300; in half of the rows the numbers grow
    from block to block, in the others they fall. Every eighth row is near 0, where the logarithm itself counts, and
    every eighth has one number far above the others."""
    m, k = case.inputs[0].shape
    middle = rng.choice([-1, 1], (m, 1)) * rng.uniform(90, 300, (m, 1))
    slope = np.where(np.arange(m) % 2 == 0, 1, -1)[:, None] * rng.uniform(0.5, 4, (m, 1))
    middle[::8], slope[::8] = 0, 0.3
    trend = slope * (np.arange(k)[None, :] // 64 - k // 128)
    x = rng.standard_normal((m, k)) + trend + middle
    x[4::8, rng.integers(k)] += 200
    return {"x": x.astype(np.float32)}


def expected(inputs, case):
    x = inputs["x"].astype(np.float64)
    top = x.max(axis=1, keepdims=True)
    return top + np.log(np.exp(x - top).sum(axis=1, keepdims=True))
