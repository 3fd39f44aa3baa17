"""Three kernels to count in."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl


def blend_kernel(x_ref, y_ref, o_ref):
    y = y_ref[...]
    top = jnp.maximum(x_ref[...], y_ref[...])
    o_ref[...] = top
    o_ref[...] += x_ref[...]


def blend(x, y):
    return pl.pallas_call(
        blend_kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype)
    )(x, y)


def total_kernel(x_ref, o_ref):
    step = pl.program_id(0)

    @pl.when(step == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    o_ref[...] += x_ref[...]


def total(x):
    return pl.pallas_call(
        total_kernel,
        grid=(4,),
        in_specs=[pl.BlockSpec((8, 128), lambda step: (step, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda step: (0, 0)),
        out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype),
    )(x)


def shifted_sum_kernel(x_ref, o_ref):
    first = x_ref[0:1, :]

    def add(i, total):
        return total + x_ref[pl.ds(8 * i, 8), :] - first

    o_ref[...] = jax.lax.fori_loop(
        0, 4, add, jnp.zeros((8, 128), jnp.float32)
    )


def shifted_sum(x):
    return pl.pallas_call(
        shifted_sum_kernel,
        out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype),
    )(x)


def make_args(kernel):
    """The arguments that each kernel is called with."""
    x = np.ones((8, 128) if kernel == "blend" else (32, 128), np.float32)
    return (x, x) if kernel == "blend" else (x,)
