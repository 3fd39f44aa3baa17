# expect: structure KT315 only
# Takes the whole array as one block: right numbers, as long as it fits into VMEM.

import jax
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def copy(x, *, bm=64, bn=128):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
