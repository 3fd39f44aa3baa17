# expect: structure KT305
# Makes arrays of shape (1,) and leaves them in VMEM: one number, but a tile of memory and vector work.

import jax
from jax.experimental import pallas as pl


def kernel(x_ref, s_ref, t_ref, o_ref):
    o_ref[...] = x_ref[...] * s_ref[...] + t_ref[...]


def scale_shift(x, s, t):
    return pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(), pl.BlockSpec(), pl.BlockSpec()],
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, s.reshape(1), t.reshape(1))
