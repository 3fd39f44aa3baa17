"""Sums and a division by the length, and a square root instead of rsqrt."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


@jax.jit
def normalize(x):
    def kernel(rows_ref, result_ref):
        rows = rows_ref[:]
        length = rows.shape[-1]
        distance = rows - jnp.sum(rows, axis=1, keepdims=True) / length
        spread = jnp.sqrt(jnp.sum(jnp.square(distance), axis=1, keepdims=True) / length + 1e-5)
        result_ref[:] = distance / spread

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, jnp.float32))(x)
