"""Rows beyond the array are set to zero on the way: not needed here, and right."""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref, *, rows):
    bm = x_ref.shape[0]
    row = pl.program_id(0) * bm + jax.lax.broadcasted_iota(jnp.int32, x_ref.shape, 0)
    value = jnp.where(row < rows, x_ref[...], 0)
    o_ref[...] = value + value


def double(x, *, bm=64):
    m, n = x.shape
    rows = pl.BlockSpec((bm, n), lambda step: (step, 0))
    return pl.pallas_call(
        functools.partial(body, rows=m),
        out_shape=x,
        grid=(-(-m // bm),),
        in_specs=[rows],
        out_specs=rows,
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
    )(x)
