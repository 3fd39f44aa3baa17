# expect: structure KT111 only
# Leaves it to jax.nn.

import jax


def logsumexp(x, *, bk=128):
    return jax.nn.logsumexp(x, axis=1, keepdims=True)
