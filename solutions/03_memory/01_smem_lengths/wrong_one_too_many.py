# expect: interpret KT202
# Keeps position lengths[i], too.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

BT = 64


def kernel(lengths_ref, x_ref, o_ref):
    i, t = pl.program_id(0), pl.program_id(1)
    position = t * BT + jax.lax.broadcasted_iota(jnp.int32, x_ref.shape, 0)
    o_ref[...] = jnp.where(position <= lengths_ref[i], x_ref[...], 0)


def mask_tail(x, lengths):
    b, t, d = x.shape
    block = pl.BlockSpec((None, BT, d), lambda i, t: (i, t, 0))
    return pl.pallas_call(
        kernel,
        grid=(b, t // BT),
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(lengths, x)
