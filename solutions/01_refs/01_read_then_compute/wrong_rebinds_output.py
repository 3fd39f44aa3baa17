# expect: interpret KT202
# Believes that `o_ref = value` writes into the output. It only gives the name to the value.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref, o_ref):
    o_ref = jnp.exp(x_ref[...]) + y_ref[...]


def exp_add(x, y):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, y)
