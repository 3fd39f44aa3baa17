# expect: structure KT302 only
# Cuts and joins outside, and lets the kernel copy.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def rotate_halves(x):
    left, right = jnp.split(x, 2, axis=1)
    turned = jnp.concatenate([-right, left], axis=1)
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(turned)
