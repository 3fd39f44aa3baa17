# expect: interpret KT201
# Takes the operands in the wrong order: x * t + s.

import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

SCALAR = pl.BlockSpec(memory_space=pltpu.SMEM)


def kernel(x_ref, t_ref, s_ref, o_ref):
    o_ref[...] = x_ref[...] * s_ref[0] + t_ref[0]


def scale_shift(x, s, t):
    return pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(), SCALAR, SCALAR],
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, s.reshape(1), t.reshape(1))
