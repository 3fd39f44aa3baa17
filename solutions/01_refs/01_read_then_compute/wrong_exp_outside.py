# expect: structure KT302 only
# Computes the exponential outside, where Refs do not get in the way.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref, o_ref):
    o_ref[...] = x_ref[...] + y_ref[...]


def exp_add(x, y):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(jnp.exp(x), y)
