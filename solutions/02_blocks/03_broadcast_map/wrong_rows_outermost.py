# expect: structure KT316 only
# Loops over rows first, as one writes it: every block of the bias comes again for every row of blocks.

import jax
from jax.experimental import pallas as pl

BM, BN = 64, 128


def kernel(x_ref, bias_ref, o_ref):
    o_ref[...] = x_ref[...] + bias_ref[...]


def add_bias(x, bias):
    m, n = x.shape
    return pl.pallas_call(
        kernel,
        grid=(m // BM, n // BN),
        in_specs=[
            pl.BlockSpec((BM, BN), lambda i, j: (i, j)),
            pl.BlockSpec((1, BN), lambda i, j: (0, j)),
        ],
        out_specs=pl.BlockSpec((BM, BN), lambda i, j: (i, j)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, bias)
