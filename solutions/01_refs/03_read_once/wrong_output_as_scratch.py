# expect: structure KT309 only
# Reads x once, but keeps the centered rows in the output: two stores, and loads of what was just stored.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

EPSILON = 1e-5


def kernel(x_ref, o_ref):
    x = x_ref[...]
    o_ref[...] = x - jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(o_ref[...] * o_ref[...], axis=-1, keepdims=True)
    o_ref[...] = o_ref[...] * jax.lax.rsqrt(variance + EPSILON)


def normalize(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
