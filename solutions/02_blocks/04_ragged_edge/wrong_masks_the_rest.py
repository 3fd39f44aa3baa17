# expect: interpret KT211
# Takes the rest itself for padding: the rows of the partial block become zero.

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref, *, m):
    row = pl.program_id(0) * x_ref.shape[0] + jax.lax.broadcasted_iota(jnp.int32, x_ref.shape, 0)
    o_ref[...] = jnp.where(row < m // x_ref.shape[0] * x_ref.shape[0], x_ref[...] * 2, 0)


def double(x, *, bm=64):
    m, n = x.shape
    return pl.pallas_call(
        functools.partial(kernel, m=m),
        grid=(pl.cdiv(m, bm),),
        in_specs=[pl.BlockSpec((bm, n), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((bm, n), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)
