"""A grid of eight rows a step: still two loads and one store in each step."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(left_ref, right_ref, sum_ref):
    sum_ref[...] = jnp.add(left_ref[...], right_ref[...])


def add(x, y):
    rows = pl.BlockSpec((8, x.shape[1]), lambda i: (i, 0))
    return pl.pallas_call(
        kernel,
        grid=(pl.cdiv(x.shape[0], 8),),
        in_specs=[rows, rows],
        out_specs=rows,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, y)
