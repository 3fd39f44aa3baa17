# expect: interpret KT210
# Forgets the batch in the index map of x: every result is made from the first matrix.

import jax
from jax.experimental import pallas as pl

BM = 64


def kernel(x_ref, s_ref, o_ref):
    o_ref[...] = x_ref[...] * s_ref[...]


def batched_scale(x, s):
    b, m, n = x.shape
    return pl.pallas_call(
        kernel,
        grid=(b, m // BM),
        in_specs=[
            pl.BlockSpec((None, BM, n), lambda b, i: (0, i, 0)),
            pl.BlockSpec((None, 1, n), lambda b, i: (b, 0, 0)),
        ],
        out_specs=pl.BlockSpec((None, BM, n), lambda b, i: (b, i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, s)
