# expect: structure KT308 only
# One read for the mean, one for the variance, one for the result: a habit from loops over arrays.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

EPSILON = 1e-5


def kernel(x_ref, o_ref):
    mean = jnp.mean(x_ref[...], axis=-1, keepdims=True)
    variance = jnp.var(x_ref[...], axis=-1, keepdims=True)
    o_ref[...] = (x_ref[...] - mean) * jax.lax.rsqrt(variance + EPSILON)


def normalize(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
