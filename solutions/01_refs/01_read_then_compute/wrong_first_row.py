# expect: interpret KT202
# Reads and stores row 0 only: `[0]` instead of `[...]`.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref, o_ref):
    o_ref[0] = jnp.exp(x_ref[0]) + y_ref[0]


def exp_add(x, y):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, y)
