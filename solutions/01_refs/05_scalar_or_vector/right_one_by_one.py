"""Shape (1, 1) in SMEM works too, with two indices."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

SCALAR = pl.BlockSpec(memory_space=pltpu.SMEM)


def kernel(x_ref, s_ref, t_ref, o_ref):
    s, t = s_ref[0, 0], t_ref[0, 0]
    o_ref[...] = s * x_ref[...] + t


def scale_shift(x, s, t):
    return pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=pltpu.VMEM), SCALAR, SCALAR],
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, s.reshape(1, 1), jnp.reshape(t, (1, 1)))
