"""Tiles of eight rows as an outer, parallel axis; the first block starts both values, the others rescale."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

ROWS = 8


def logsumexp(x, *, bk=128):
    m, k = x.shape
    steps = k // bk

    def body(x_ref, o_ref, top_ref, total_ref):
        step = pl.program_id(1)
        block = x_ref[...]
        mine = block.max(axis=1, keepdims=True)

        @pl.when(step == 0)
        def _():
            top_ref[...] = mine
            total_ref[...] = jnp.exp(block - mine).sum(axis=1, keepdims=True)

        @pl.when(step > 0)
        def _():
            before = top_ref[...]
            top = jnp.maximum(before, mine)
            total_ref[...] = total_ref[...] * jnp.exp(before - top) + jnp.exp(block - top).sum(axis=1, keepdims=True)
            top_ref[...] = top

        @pl.when(step == steps - 1)
        def _():
            o_ref[...] = jnp.log(total_ref[...]) + top_ref[...]

    value = pltpu.VMEM((ROWS, 1), jnp.float32)
    return pl.pallas_call(
        body,
        out_shape=jax.ShapeDtypeStruct((m, 1), jnp.float32),
        grid=(m // ROWS, steps),
        in_specs=[pl.BlockSpec((ROWS, bk), lambda tile, step: (tile, step))],
        out_specs=pl.BlockSpec((ROWS, 1), lambda tile, step: (tile, 0)),
        scratch_shapes=[value, value],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary")),
    )(x)
