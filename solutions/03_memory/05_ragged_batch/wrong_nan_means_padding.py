# expect: interpret KT210
# Takes NaN for the sign of padding, and never asks for the length inside a block.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

BT = 128


def kernel(lengths_ref, x_ref, o_ref):
    i, j = pl.program_id(0), pl.program_id(1)

    @pl.when(j == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    @pl.when(j * BT < lengths_ref[i])
    def _():
        tokens = jnp.where(jnp.isnan(x_ref[...]), 0, x_ref[...])
        o_ref[...] += jnp.sum(tokens, axis=0, keepdims=True)


def needed(i, j, lengths_ref):
    last = jnp.maximum(pl.cdiv(lengths_ref[i], BT) - 1, 0)
    return (i, jnp.minimum(j, last), 0)


def ragged_sum(x, lengths):
    b, t, d = x.shape
    return pl.pallas_call(
        kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(b, t // BT),
            in_specs=[pl.BlockSpec((None, BT, d), needed)],
            out_specs=pl.BlockSpec((None, 1, d), lambda i, j, lengths_ref: (i, 0, 0)),
        ),
        out_shape=jax.ShapeDtypeStruct((b, 1, d), x.dtype),
    )(lengths, x)
