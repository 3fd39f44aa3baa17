"""All in one line, y first: the jaxpr has the same four lines."""

import jax
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref, o_ref):
    o_ref[:, :] = y_ref[:, :] + x_ref[:, :]


def add(x, y):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, y)
