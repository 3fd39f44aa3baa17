# expect: interpret KT202
# Takes one group of 16 heads, as if there were no more: right for 16 heads or fewer.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

BT = 16


def kernel(x_ref, s_ref, o_ref):
    o_ref[...] = (x_ref[...].astype(jnp.float32) * s_ref[...]).astype(o_ref.dtype)


def head_scale(x, s):
    t, h, d = x.shape
    heads = min(h, 16)
    block = pl.BlockSpec((BT, heads, d), lambda i: (i, 0, 0))
    return pl.pallas_call(
        kernel,
        grid=(t // BT,),
        in_specs=[block, pl.BlockSpec((heads, 1), lambda i: (0, 0))],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, s)
