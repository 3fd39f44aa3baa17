"""The same function in jnp, for comparing speed."""

import jax.numpy as jnp


def row_sums(x, *, bm=64, bk=128):
    return jnp.sum(x, axis=1, keepdims=True)
