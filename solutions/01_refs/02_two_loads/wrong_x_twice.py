# expect: interpret KT201
# Adds x to itself: y is loaded, but never used, so its load is not even in the jaxpr.

import jax
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref, o_ref):
    x = x_ref[...]
    y = y_ref[...]
    o_ref[...] = x + x


def add(x, y):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, y)
