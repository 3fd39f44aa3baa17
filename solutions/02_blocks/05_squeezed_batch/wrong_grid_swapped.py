# expect: interpret KT202
# Gives the grid in the order (rows, batch), and the index maps in the other.

import jax
from jax.experimental import pallas as pl

BM = 64


def kernel(x_ref, s_ref, o_ref):
    o_ref[...] = x_ref[...] * s_ref[...]


def batched_scale(x, s):
    b, m, n = x.shape
    return pl.pallas_call(
        kernel,
        grid=(m // BM, b),
        in_specs=[
            pl.BlockSpec((None, BM, n), lambda b, i: (b, i, 0)),
            pl.BlockSpec((None, 1, n), lambda b, i: (b, 0, 0)),
        ],
        out_specs=pl.BlockSpec((None, BM, n), lambda b, i: (b, i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, s)
