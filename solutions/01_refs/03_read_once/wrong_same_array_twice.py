# expect: structure KT308 only
# x is given to the kernel twice, so that each Ref is read once.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

EPSILON = 1e-5


def kernel(x_ref, again_ref, o_ref):
    mean = jnp.mean(x_ref[...], axis=-1, keepdims=True)
    centered = again_ref[...] - mean
    variance = jnp.mean(centered * centered, axis=-1, keepdims=True)
    o_ref[...] = centered * jax.lax.rsqrt(variance + EPSILON)


def normalize(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, x)
