"""Inputs and expected result of `ragged_sum`."""

import numpy as np


def make_inputs(rng, case):
    """Standard normal x (b, t, d), with NaN behind every other end; lengths (b,) whose mean is near `fill` % of t.

    From three sequences on one is empty, from five on one is full, and one ends with a block."""
    b, t, _ = case.inputs[0].shape
    x = rng.standard_normal(case.inputs[0].shape).astype(np.float32)
    mean = t * case.sizes["fill"] / 100
    lengths = np.clip(rng.uniform(0.5, 1.5, b) * mean, 1, t).astype(np.int32)
    special = [0] * (b > 2) + [t, t // 256 * 128] * (b > 4)
    lengths[rng.permutation(b)[: len(special)]] = special
    for i in range(0, b, 2):
        x[i, lengths[i] :] = np.nan
    return {"x": x, "lengths": lengths}


def expected(inputs, case):
    x, lengths = inputs["x"], inputs["lengths"]
    return np.stack([x[i, :n].sum(axis=0, keepdims=True, dtype=np.float64) for i, n in enumerate(lengths)])
