# expect: structure KT308 only
# x is read once, into a second output that nobody gets, and that is read as often as x was.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

EPSILON = 1e-5


def kernel(x_ref, o_ref, held_ref):
    held_ref[...] = x_ref[...]
    mean = jnp.mean(held_ref[...], axis=-1, keepdims=True)
    variance = jnp.mean((held_ref[...] - mean) ** 2, axis=-1, keepdims=True)
    o_ref[...] = (held_ref[...] - mean) * jax.lax.rsqrt(variance + EPSILON)


def normalize(x):
    like_x = jax.ShapeDtypeStruct(x.shape, x.dtype)
    out, _ = pl.pallas_call(kernel, out_shape=(like_x, like_x))(x)
    return out
