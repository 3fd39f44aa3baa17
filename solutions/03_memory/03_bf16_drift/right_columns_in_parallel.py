"""Columns are cut into blocks of 128 as an outer, parallel axis; the first chunk stores, and a loop adds strips."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

WIDTH, STRIP = 128, 64


def kernel(x_ref, o_ref, acc_ref):
    step = pl.program_id(1)

    def add(i, total):
        rows = x_ref[pl.ds(pl.multiple_of(i * STRIP, STRIP), STRIP), :]
        return total + rows.astype(jnp.float32).sum(axis=0, keepdims=True)

    chunk = jax.lax.fori_loop(0, x_ref.shape[0] // STRIP, add, jnp.zeros((1, WIDTH), jnp.float32))

    @pl.when(step == 0)
    def _():
        acc_ref[...] = chunk

    @pl.when(step > 0)
    def _():
        acc_ref[...] = acc_ref[...] + chunk

    @pl.when(step == pl.num_programs(1) - 1)
    def _():
        o_ref[...] = acc_ref[...].astype(o_ref.dtype)


def chunked_sum(x, *, bk=128):
    k, n = x.shape
    return pl.pallas_call(
        kernel,
        grid=(n // WIDTH, k // bk),
        in_specs=[pl.BlockSpec((bk, WIDTH), lambda column, step: (step, column))],
        out_specs=pl.BlockSpec((1, WIDTH), lambda column, step: (0, column)),
        out_shape=jax.ShapeDtypeStruct((1, n), jnp.bfloat16),
        scratch_shapes=[pltpu.VMEM((1, WIDTH), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary")),
    )(x)
