"""The same function in jnp, for comparing speed."""

import jax.numpy as jnp


def copy(x, *, bm=64, bn=128):
    return jnp.copy(x)
