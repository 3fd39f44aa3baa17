"""The same function in jnp, for comparing speed."""

import jax


def logsumexp(x, *, bk=128):
    return jax.nn.logsumexp(x, axis=1, keepdims=True)
