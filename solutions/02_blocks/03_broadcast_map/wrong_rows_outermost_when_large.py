# expect: structure KT316 only
# One step if x is small. A large x is cut small and walked rows first, and the bias comes again for every row of blocks.

import jax
from jax.experimental import pallas as pl


def kernel(x_ref, bias_ref, o_ref):
    o_ref[...] = x_ref[...] + bias_ref[...]


def add_bias(x, bias):
    m, n = x.shape
    bm, bn = (32, 128) if m > 1000 else (m, n)
    tile = pl.BlockSpec((bm, bn), lambda i, j: (i, j))
    return pl.pallas_call(
        kernel,
        grid=(m // bm, n // bn),
        in_specs=[tile, pl.BlockSpec((1, bn), lambda i, j: (0, j))],
        out_specs=tile,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, bias)
