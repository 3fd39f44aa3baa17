# expect: structure KT304 only
# Transposes with x.T before the kernel, which then only copies.

import jax
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def transpose(x, *, b=128):
    m, n = x.shape
    turned = x.T
    return pl.pallas_call(
        kernel,
        grid=(n // b, m // b),
        in_specs=[pl.BlockSpec((b, b), lambda i, j: (i, j))],
        out_specs=pl.BlockSpec((b, b), lambda i, j: (i, j)),
        out_shape=jax.ShapeDtypeStruct((n, m), x.dtype),
    )(turned)
