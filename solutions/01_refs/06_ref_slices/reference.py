"""Two loads and two stores of one half each."""

import jax
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    half = x_ref.shape[1] // 2
    o_ref[:, :half] = -x_ref[:, half:]
    o_ref[:, half:] = x_ref[:, :half]


def rotate_halves(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
