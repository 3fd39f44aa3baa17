"""The same function in jnp, for comparing speed: it reads everything."""

import jax.numpy as jnp


def ragged_sum(x, lengths):
    position = jnp.arange(x.shape[1])[None, :, None]
    return jnp.sum(jnp.where(position < lengths[:, None, None], x, 0), axis=1, keepdims=True)
