"""One load, names for everything in between, one store."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

EPSILON = 1e-5


def kernel(x_ref, o_ref):
    x = x_ref[...]
    centered = x - jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(centered * centered, axis=-1, keepdims=True)
    o_ref[...] = centered * jax.lax.rsqrt(variance + EPSILON)


def normalize(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
