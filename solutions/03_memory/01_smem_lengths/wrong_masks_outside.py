# expect: structure KT302 only
# Masks with jnp.where outside, and lets the kernel copy.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

BT = 64


def kernel(lengths_ref, x_ref, o_ref):
    i = pl.program_id(0)
    o_ref[...] = x_ref[...] + 0 * lengths_ref[i].astype(jnp.float32)


def mask_tail(x, lengths):
    b, t, d = x.shape
    x = jnp.where(jnp.arange(t)[None, :, None] < lengths[:, None, None], x, 0)
    block = pl.BlockSpec((None, BT, d), lambda i, t: (i, t, 0))
    return pl.pallas_call(
        kernel,
        grid=(b, t // BT),
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(lengths, x)
