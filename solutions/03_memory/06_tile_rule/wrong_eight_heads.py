# expect: structure KT314 only
# Counts tiles as for float32: 8 rows of bfloat16 are half a tile.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

BT = 16


def kernel(x_ref, s_ref, o_ref):
    o_ref[...] = (x_ref[...].astype(jnp.float32) * s_ref[...]).astype(o_ref.dtype)


def head_scale(x, s):
    t, h, d = x.shape
    heads = 8 if h % 8 == 0 else h
    block = pl.BlockSpec((BT, heads, d), lambda i, j: (i, j, 0))
    return pl.pallas_call(
        kernel,
        grid=(t // BT, h // heads),
        in_specs=[block, pl.BlockSpec((heads, 1), lambda i, j: (j, 0))],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, s)
