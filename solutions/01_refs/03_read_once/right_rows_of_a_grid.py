"""Eight rows a grid step, and jnp.var on the value that was read."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

EPSILON = 1e-5


def kernel(x_ref, o_ref):
    x = x_ref[...]
    o_ref[...] = (x - x.mean(axis=-1, keepdims=True)) / jnp.sqrt(x.var(axis=-1, keepdims=True) + EPSILON)


def normalize(x):
    spec = pl.BlockSpec((8, x.shape[1]), lambda i: (i, 0))
    return pl.pallas_call(
        kernel,
        grid=(pl.cdiv(x.shape[0], 8),),
        in_specs=[spec],
        out_specs=spec,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)
