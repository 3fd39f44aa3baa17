"""The same function in jnp, for comparing speed."""

import jax.numpy as jnp


def gather_pages(pages, table):
    return jnp.take(pages, table, axis=0) * 2
