# expect: structure KT314 only
# Keeps the batch axis as a leading 1 in every block.

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
            pl.BlockSpec((1, BM, n), lambda b, i: (b, i, 0)),
            pl.BlockSpec((1, 1, n), lambda b, i: (b, 0, 0)),
        ],
        out_specs=pl.BlockSpec((1, BM, n), lambda b, i: (b, i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, s)
