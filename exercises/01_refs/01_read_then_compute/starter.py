"""Read first, then compute.

exp_add(x, y): x and y are (m, n) float32. The result is exp(x) + y, also (m, n) float32.

The call of the kernel, at the bottom, is complete. The kernel is not: check it as it is, and read what the tutor
says about it.
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref, o_ref):
    # TODO: a Ref is a place, not an array. Read the places first.
    o_ref[...] = jnp.exp(x_ref) + y_ref


def exp_add(x, y):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, y)
