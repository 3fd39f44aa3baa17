# expect: interpret KT202
# Swaps the two sizes of the grid: right as long as there are as many blocks across as down.

import jax
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def copy(x, *, bm=64, bn=128):
    m, n = x.shape
    return pl.pallas_call(
        kernel,
        grid=(n // bn, m // bm),
        in_specs=[pl.BlockSpec((bm, bn), lambda i, j: (i, j))],
        out_specs=pl.BlockSpec((bm, bn), lambda i, j: (i, j)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)
