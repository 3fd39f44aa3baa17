# expect: structure KT328
# Makes the grid as large as the array, as if a step were an element.

import jax
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def copy(x, *, bm=64, bn=128):
    m, n = x.shape
    return pl.pallas_call(
        kernel,
        grid=(m // 8, n // 64),
        in_specs=[pl.BlockSpec((bm, bn), lambda i, j: (i, j))],
        out_specs=pl.BlockSpec((bm, bn), lambda i, j: (i, j)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)
