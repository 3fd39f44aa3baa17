# expect: lower KT503
# Passes arrays of shape () without a memory space: VMEM has no place for rank 0.

import jax
from jax.experimental import pallas as pl


def kernel(x_ref, s_ref, t_ref, o_ref):
    o_ref[...] = x_ref[...] * s_ref[...] + t_ref[...]


def scale_shift(x, s, t):
    return pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(), pl.BlockSpec(), pl.BlockSpec()],
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, s, t)
