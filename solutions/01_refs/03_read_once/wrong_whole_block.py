# expect: interpret KT201
# Forgets the axis: one mean and one variance for the whole block. Right if there is one row only.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

EPSILON = 1e-5


def kernel(x_ref, o_ref):
    x = x_ref[...]
    centered = x - jnp.mean(x)
    variance = jnp.mean(centered * centered)
    o_ref[...] = centered * jax.lax.rsqrt(variance + EPSILON)


def normalize(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
