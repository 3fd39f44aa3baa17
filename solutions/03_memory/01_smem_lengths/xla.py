"""The same function in jnp, for comparing speed."""

import jax.numpy as jnp


def mask_tail(x, lengths):
    position = jnp.arange(x.shape[1])[None, :, None]
    return jnp.where(position < lengths[:, None, None], x, 0)
