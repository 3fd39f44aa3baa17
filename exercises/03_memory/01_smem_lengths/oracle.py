"""Inputs and expected result of `mask_tail`."""

import numpy as np


def make_inputs(rng, case):
    """Standard normal x (b, t, d), with NaN behind the ends of half of the sequences; lengths (b,) from 0 to t."""
    b, t, _ = case.inputs[0].shape
    x = rng.standard_normal(case.inputs[0].shape).astype(np.float32)
    lengths = rng.integers(1, t, size=b, dtype=np.int32)
    lengths[rng.permutation(b)[:2]] = ([0, t] if b > 2 else [t // 2 + 3, t])[:b]
    for i in range(0, b, 2):
        x[i, lengths[i] :] = np.nan
    return {"x": x, "lengths": lengths}


def expected(inputs, case):
    x, lengths = inputs["x"], inputs["lengths"]
    position = np.arange(x.shape[1])[None, :, None]
    return np.where(position < lengths[:, None, None], x, 0)
