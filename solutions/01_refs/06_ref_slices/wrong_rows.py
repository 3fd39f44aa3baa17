# expect: interpret KT201
# Cuts along axis 0: the halves of the rows, not of the columns.

import jax
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    half = (x_ref.shape[0] + 1) // 2
    if half == x_ref.shape[0]:
        o_ref[...] = -x_ref[...]
    else:
        o_ref[:half, :] = -x_ref[half:, :]
        o_ref[half:, :] = x_ref[:half, :]


def rotate_halves(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
