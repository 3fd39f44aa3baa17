# expect: structure KT331
# Stores the result into x_ref, believing that it is the array that the caller gets back.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref, o_ref):
    x_ref[...] = jnp.exp(x_ref[...])
    o_ref[...] = x_ref[...] + y_ref[...]


def exp_add(x, y):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, y)
