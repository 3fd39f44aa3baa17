"""The same function in jnp, for comparing speed."""

import jax
import jax.numpy as jnp


def normalize(x):
    centered = x - jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(centered * centered, axis=-1, keepdims=True)
    return centered * jax.lax.rsqrt(variance + 1e-5)
