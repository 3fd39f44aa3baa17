"""Read once.

normalize(x): x is (m, n) float32. The result has the same shape: every row of x, moved to mean 0 and scaled to
variance 1. EPSILON is added to the variance, so that a constant row does not divide by zero.

The numbers are right. The jaxpr shows what is wrong: four loads of one and the same block.
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

EPSILON = 1e-5


def kernel(x_ref, o_ref):
    # TODO: one load is enough.
    mean = jnp.mean(x_ref[...], axis=-1, keepdims=True)
    variance = jnp.mean((x_ref[...] - mean) * (x_ref[...] - mean), axis=-1, keepdims=True)
    o_ref[...] = (x_ref[...] - mean) * jax.lax.rsqrt(variance + EPSILON)


def normalize(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
