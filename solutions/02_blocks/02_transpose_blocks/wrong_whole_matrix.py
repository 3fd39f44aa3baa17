# expect: structure KT315 only
# Turns the whole matrix at once.

import jax
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...].T


def transpose(x, *, b=128):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape[::-1], x.dtype))(x)
