# expect: trace KT112
# Uses s and t of the function round the kernel, as any Python function could.

import jax
from jax.experimental import pallas as pl


def scale_shift(x, s, t):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * s + t

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
