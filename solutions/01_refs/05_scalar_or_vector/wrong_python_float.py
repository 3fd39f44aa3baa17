# expect: trace KT118
# Turns s and t into Python floats, so that the kernel may close over them: while JAX traces, they have no value.

import jax
from jax.experimental import pallas as pl


def scale_shift(x, s, t):
    scale, shift = float(s), float(t)

    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * scale + shift

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
