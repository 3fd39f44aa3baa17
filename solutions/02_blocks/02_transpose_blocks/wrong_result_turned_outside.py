# expect: structure KT314 only
# Turns every block twice, which does nothing, and has XLA turn the result.

import jax
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...].T.T


def transpose(x, *, b=128):
    m, n = x.shape
    block = pl.BlockSpec((b, b), lambda i, j: (i, j))
    copied = pl.pallas_call(
        kernel,
        grid=(m // b, n // b),
        in_specs=[block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
    )(x)
    return copied.T
