# expect: structure KT308 only
# Hides the loads in helper functions that are given the Ref: they are loads all the same.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

EPSILON = 1e-5


def mean_of(ref):
    return jnp.mean(ref[...], axis=-1, keepdims=True)


def centered(ref):
    return ref[...] - mean_of(ref)


def kernel(x_ref, o_ref):
    variance = jnp.mean(centered(x_ref) ** 2, axis=-1, keepdims=True)
    o_ref[...] = centered(x_ref) * jax.lax.rsqrt(variance + EPSILON)


def normalize(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
