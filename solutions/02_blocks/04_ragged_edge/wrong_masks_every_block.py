# expect: interpret KT201
# Compares the row within the block with the rest: every block loses rows, not the last one alone.

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref, *, rest):
    row = jax.lax.broadcasted_iota(jnp.int32, x_ref.shape, 0)
    o_ref[...] = jnp.where(row < rest, x_ref[...] * 2, 0)


def double(x, *, bm=64):
    m, n = x.shape
    return pl.pallas_call(
        functools.partial(kernel, rest=m % bm or bm),
        grid=(pl.cdiv(m, bm),),
        in_specs=[pl.BlockSpec((bm, n), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((bm, n), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)
