# expect: structure KT328
# Adds one to be safe: where bm divides m, the last block lies outside the array.

import jax
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2


def double(x, *, bm=64):
    m, n = x.shape
    return pl.pallas_call(
        kernel,
        grid=(m // bm + 1,),
        in_specs=[pl.BlockSpec((bm, n), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((bm, n), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)
