# expect: structure KT305
# Passes the lengths as an ordinary operand in VMEM: index maps cannot read it, and every block comes.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

BT = 128


def kernel(lengths_ref, x_ref, o_ref):
    j = pl.program_id(1)

    @pl.when(j == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    position = j * BT + jax.lax.broadcasted_iota(jnp.int32, x_ref.shape, 0)
    tokens = jnp.where(position < lengths_ref[...], x_ref[...], 0)
    o_ref[...] += jnp.sum(tokens, axis=0, keepdims=True)


def ragged_sum(x, lengths):
    b, t, d = x.shape
    return pl.pallas_call(
        kernel,
        grid=(b, t // BT),
        in_specs=[
            pl.BlockSpec((None, 1, 1), lambda i, j: (i, 0, 0), memory_space=pltpu.VMEM),
            pl.BlockSpec((None, BT, d), lambda i, j: (i, j, 0)),
        ],
        out_specs=pl.BlockSpec((None, 1, d), lambda i, j: (i, 0, 0)),
        out_shape=jax.ShapeDtypeStruct((b, 1, d), x.dtype),
    )(lengths.reshape(b, 1, 1), x)
