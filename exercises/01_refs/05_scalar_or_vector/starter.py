"""Scalar or vector.

scale_shift(x, s, t): x is (m, n) float32, s and t are single float32 numbers (shape ()). The result is x * s + t.

The numbers are right. But s and t travel as arrays of shape (1, 1) in VMEM: look at their rows in the access table,
and at the lines of the jaxpr that spread them out.
"""

import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

VECTOR = pl.BlockSpec(memory_space=pltpu.VMEM)  # TODO: which memory space is for scalars?


def kernel(x_ref, s_ref, t_ref, o_ref):
    o_ref[...] = x_ref[...] * s_ref[...] + t_ref[...]  # TODO: load single numbers


def scale_shift(x, s, t):
    return pl.pallas_call(
        kernel,
        in_specs=[VECTOR, VECTOR, VECTOR],
        out_specs=VECTOR,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, s.reshape(1, 1), t.reshape(1, 1))
