# expect: structure KT303 only
# Multiplies by a matrix of 0, 1 and -1: on a TPU the product rounds x to bfloat16.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    n = x_ref.shape[1]
    half = n // 2
    i = jax.lax.broadcasted_iota(jnp.int32, (n, n), 0)
    j = jax.lax.broadcasted_iota(jnp.int32, (n, n), 1)
    p = (i + half == j).astype(jnp.float32) - (i == j + half).astype(jnp.float32)
    o_ref[...] = jnp.dot(x_ref[...], p, preferred_element_type=jnp.float32)


def rotate_halves(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
