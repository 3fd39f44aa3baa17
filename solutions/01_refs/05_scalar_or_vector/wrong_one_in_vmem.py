# expect: structure KT305 only
# s is a scalar now, but t is still a (1, 1) array in VMEM.

import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

SCALAR = pl.BlockSpec(memory_space=pltpu.SMEM)


def kernel(x_ref, s_ref, t_ref, o_ref):
    o_ref[...] = x_ref[...] * s_ref[0] + t_ref[...]


def scale_shift(x, s, t):
    return pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(), SCALAR, pl.BlockSpec()],
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, s.reshape(1), t.reshape(1, 1))
