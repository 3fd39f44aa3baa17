"""One row at a time, in a loop: more and smaller loads, the same numbers."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref, o_ref):
    def row(i, carry):
        at = pl.ds(i, 1)
        o_ref[at, :] = jnp.exp(x_ref[at, :]) + y_ref[at, :]
        return carry

    jax.lax.fori_loop(0, x_ref.shape[0], row, 0)


def exp_add(x, y):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, y)
