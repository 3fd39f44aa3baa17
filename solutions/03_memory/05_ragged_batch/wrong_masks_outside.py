# expect: structure KT302
# Clears the ends with jnp.where outside, and sums everything.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = jnp.sum(x_ref[...], axis=0, keepdims=True)


def ragged_sum(x, lengths):
    b, t, d = x.shape
    x = jnp.where(jnp.arange(t)[None, :, None] < lengths[:, None, None], x, 0)
    return pl.pallas_call(
        kernel,
        grid=(b,),
        in_specs=[pl.BlockSpec((None, t, d), lambda i: (i, 0, 0))],
        out_specs=pl.BlockSpec((None, 1, d), lambda i: (i, 0, 0)),
        out_shape=jax.ShapeDtypeStruct((b, 1, d), x.dtype),
    )(x)
