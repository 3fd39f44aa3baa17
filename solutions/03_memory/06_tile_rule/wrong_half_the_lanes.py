# expect: lower KT502
# Cuts d into blocks of 64 lanes.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

BT = 16


def kernel(x_ref, s_ref, o_ref):
    o_ref[...] = (x_ref[...].astype(jnp.float32) * s_ref[...]).astype(o_ref.dtype)


def head_scale(x, s):
    t, h, d = x.shape
    block = pl.BlockSpec((BT, h, 64), lambda i, j: (i, 0, j))
    return pl.pallas_call(
        kernel,
        grid=(t // BT, d // 64),
        in_specs=[block, pl.BlockSpec((h, 1), lambda i, j: (0, 0))],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, s)
