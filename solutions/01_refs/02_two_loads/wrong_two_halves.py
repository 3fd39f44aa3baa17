# expect: structure KT309 only
# Loads whole blocks, but stores the result in two halves.

import jax
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref, o_ref):
    total = x_ref[...] + y_ref[...]
    half = (x_ref.shape[0] + 1) // 2
    o_ref[:half, :] = total[:half, :]
    if half < x_ref.shape[0]:
        o_ref[half:, :] = total[half:, :]


def add(x, y):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, y)
