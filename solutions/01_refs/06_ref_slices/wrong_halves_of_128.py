# expect: interpret KT202
# Writes 128 for the half, which is right for the first case only.

import jax
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[:, :128] = -x_ref[:, 128:256]
    o_ref[:, 128:256] = x_ref[:, :128]


def rotate_halves(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
