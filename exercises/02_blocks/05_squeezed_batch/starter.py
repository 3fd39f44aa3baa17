"""A batch axis that the kernel never sees.

batched_scale(x, s): x is (b, m, n) float32, s is (b, 1, n) float32. Each matrix x[i] is multiplied by its row s[i].
m is a multiple of 64, n of 128.
"""

import jax
from jax.experimental import pallas as pl

BM = 64


def kernel(x_ref, s_ref, o_ref):
    o_ref[...] = x_ref[...] * s_ref[...]


def batched_scale(x, s):
    b, m, n = x.shape
    # TODO: these specs are those of a single matrix. Let the grid walk over the batch, too.
    return pl.pallas_call(
        kernel,
        grid=(m // BM,),
        in_specs=[
            pl.BlockSpec((BM, n), lambda i: (i, 0)),
            pl.BlockSpec((1, n), lambda i: (0, 0)),
        ],
        out_specs=pl.BlockSpec((BM, n), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, s)
