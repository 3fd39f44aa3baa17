"""Parts of a Ref.

rotate_halves(x): x is (m, 2h) float32. The result has the same shape: its left half is minus the right half of x, its
right half is the left half of x. (Rotary position embeddings turn pairs of numbers with it.)

The numbers are right. But the kernel loads the whole block, cuts the value, and joins it again, all in registers.
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    half = x_ref.shape[1] // 2
    # TODO: load and store halves, by slicing the Refs.
    x = x_ref[...]
    left, right = x[:, :half], x[:, half:]
    o_ref[...] = jnp.concatenate([-right, left], axis=1)


def rotate_halves(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
