"""One matrix of the batch at every step, with pl.squeezed; the axis is parallel."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def batched_scale(x, s):
    count, m, n = x.shape

    def body(matrix, scale, result):
        result[:, :] = jnp.multiply(matrix[:, :], scale[0:1, :])

    def one(rows):
        return pl.BlockSpec(block_shape=(pl.squeezed, rows, n), index_map=lambda which: (which, 0, 0))

    return pl.pallas_call(
        body,
        out_shape=x,
        grid=(count,),
        in_specs=[one(m), one(1)],
        out_specs=one(m),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
    )(x, s)
