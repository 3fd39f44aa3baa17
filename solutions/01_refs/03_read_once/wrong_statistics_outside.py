# expect: structure KT302 only
# Computes the statistics outside, so that the kernel reads x only once.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, mean_ref, scale_ref, o_ref):
    o_ref[...] = (x_ref[...] - mean_ref[...]) * scale_ref[...]


def normalize(x):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    scale = jax.lax.rsqrt(jnp.var(x, axis=-1, keepdims=True) + 1e-5)
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, mean, scale)
