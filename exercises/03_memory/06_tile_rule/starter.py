"""Tiles of 8 by 128.

head_scale(x, s): x is (t, h, d) bfloat16, s is (h, 1) float32; the result is (t, h, d) bfloat16, x with head j
multiplied by s[j]. t is a multiple of 16, d of 128.
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

BT = 16


def kernel(x_ref, s_ref, o_ref):
    o_ref[...] = (x_ref[...].astype(jnp.float32) * s_ref[...]).astype(o_ref.dtype)


def head_scale(x, s):
    t, h, d = x.shape
    # TODO: a block of one head is one row of a tile.
    block = pl.BlockSpec((BT, 1, d), lambda i, j: (i, j, 0))
    return pl.pallas_call(
        kernel,
        grid=(t // BT, h),
        in_specs=[block, pl.BlockSpec((1, 1), lambda i, j: (j, 0))],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, s)
