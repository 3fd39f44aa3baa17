# expect: trace KT123
# Takes pl.ds(start, size) for start and end: the second half would reach outside the Ref.

import jax
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    columns = x_ref.shape[1]
    half = columns // 2
    o_ref[:, pl.ds(0, half)] = -x_ref[:, pl.ds(half, columns)]
    o_ref[:, pl.ds(half, columns)] = x_ref[:, pl.ds(0, half)]


def rotate_halves(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
