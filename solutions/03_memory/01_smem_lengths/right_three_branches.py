"""Blocks before the end are copied, those behind it cleared; only the one that holds the end needs a mask."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

ROWS = 32


def kernel(lengths_ref, x_ref, o_ref):
    length = lengths_ref[pl.program_id(1)]
    start = pl.program_id(0) * ROWS

    @pl.when(start + ROWS <= length)
    def _():
        o_ref[...] = x_ref[...]

    @pl.when(length <= start)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    @pl.when((start < length) & (length < start + ROWS))
    def _():
        row = jax.lax.broadcasted_iota(jnp.int32, x_ref.shape, 0)
        o_ref[...] = jnp.where(row >= length - start, 0.0, x_ref[...])


def mask_tail(x, lengths):
    b, t, d = x.shape
    rows = pl.BlockSpec((None, ROWS, d), lambda j, i: (i, j, 0))
    return pl.pallas_call(
        kernel,
        grid=(t // ROWS, b),
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), rows],
        out_specs=rows,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel")),
    )(lengths, x)
