"""Blocks of 64 tokens; the index map divides with shifts, and the sum lives in a scratch until the last step."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

ROWS = 64


def body(lengths, x_ref, o_ref, sum_ref):
    sequence, step = pl.program_id(0), pl.program_id(1)
    left = lengths[sequence] - step * ROWS

    @pl.when(step == 0)
    def _():
        sum_ref[...] = jnp.zeros(sum_ref.shape, jnp.float32)

    @pl.when(left > 0)
    def _():
        row = jax.lax.broadcasted_iota(jnp.int32, x_ref.shape, 0)
        sum_ref[...] += jnp.where(row >= left, 0.0, x_ref[...]).reshape(8, ROWS // 8, -1).sum(axis=1)

    @pl.when(step == pl.num_programs(1) - 1)
    def _():
        o_ref[...] = sum_ref[...].sum(axis=0, keepdims=True)


@jax.jit
def ragged_sum(x, lengths):
    count, t, d = x.shape

    def block(sequence, step, lengths):
        blocks = (lengths[sequence] + ROWS - 1) >> 6
        return sequence, jnp.where(step < blocks, step, jnp.where(blocks > 0, blocks - 1, 0)), 0

    return pl.pallas_call(
        body,
        out_shape=jax.ShapeDtypeStruct((count, 1, d), jnp.float32),
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(count, t // ROWS),
            in_specs=[pl.BlockSpec((pl.squeezed, ROWS, d), block)],
            out_specs=pl.BlockSpec((pl.squeezed, 1, d), lambda sequence, step, lengths: (sequence, 0, 0)),
            scratch_shapes=[pltpu.VMEM((8, d), jnp.float32)],
        ),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary")),
    )(lengths, x)
