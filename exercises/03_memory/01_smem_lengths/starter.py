"""Lengths are scalars.

mask_tail(x, lengths): x is (b, t, d) float32, lengths is (b,) int32, between 0 and t. The result is x, with zeros
in sequence i from position lengths[i] on. t is a multiple of 64, d of 128. What is behind an end may be anything.
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

BT = 64


def kernel(lengths_ref, x_ref, o_ref):
    # TODO 2: keep what is before the end of this sequence, and put 0 behind it.
    o_ref[...] = x_ref[...]


def mask_tail(x, lengths):
    b, t, d = x.shape
    block = pl.BlockSpec((None, BT, d), lambda i, t: (i, t, 0))
    return pl.pallas_call(
        kernel,
        grid=(b, t // BT),
        in_specs=[
            pl.BlockSpec(memory_space=pltpu.VMEM),  # TODO 1: in which memory do scalars belong?
            block,
        ],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(lengths, x)
