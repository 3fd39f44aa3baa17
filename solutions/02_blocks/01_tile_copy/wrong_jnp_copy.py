# expect: structure KT111 only
# Lets XLA copy.

import jax.numpy as jnp


def copy(x, *, bm=64, bn=128):
    return jnp.array(x, copy=True)
