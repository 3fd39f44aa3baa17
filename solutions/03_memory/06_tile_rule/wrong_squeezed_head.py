# expect: lower KT502 only
# Squeezes the axis of heads: the block is still one row of every tile.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

BT = 16


def kernel(x_ref, s_ref, o_ref):
    o_ref[...] = (x_ref[...].astype(jnp.float32) * s_ref[...]).astype(o_ref.dtype)


def head_scale(x, s):
    t, h, d = x.shape
    block = pl.BlockSpec((BT, None, d), lambda i, j: (i, j, 0))
    return pl.pallas_call(
        kernel,
        grid=(t // BT, h),
        in_specs=[block, pl.BlockSpec((None, 1), lambda i, j: (j, 0))],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, s)
