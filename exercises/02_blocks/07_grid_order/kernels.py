"""Two kernels, each in two orders of its grid."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl


def matmul_kernel(a_ref, b_ref, o_ref, *, k_axis):
    k = pl.program_id(k_axis)

    @pl.when(k == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    o_ref[...] += jnp.dot(
        a_ref[...], b_ref[...], preferred_element_type=jnp.float32
    )


def matmul_k_last(a, b):
    def kernel(a_ref, b_ref, o_ref):
        matmul_kernel(a_ref, b_ref, o_ref, k_axis=2)

    return pl.pallas_call(
        kernel,
        grid=(2, 3, 2),
        in_specs=[
            pl.BlockSpec((8, 128), lambda i, j, k: (i, k)),
            pl.BlockSpec((128, 128), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((8, 128), lambda i, j, k: (i, j)),
        out_shape=jax.ShapeDtypeStruct((16, 384), jnp.float32),
    )(a, b)


def matmul_k_first(a, b):
    def kernel(a_ref, b_ref, o_ref):
        matmul_kernel(a_ref, b_ref, o_ref, k_axis=0)

    return pl.pallas_call(
        kernel,
        grid=(2, 2, 3),
        in_specs=[
            pl.BlockSpec((8, 128), lambda k, i, j: (i, k)),
            pl.BlockSpec((128, 128), lambda k, i, j: (k, j)),
        ],
        out_specs=pl.BlockSpec((8, 128), lambda k, i, j: (i, j)),
        out_shape=jax.ShapeDtypeStruct((16, 384), jnp.float32),
    )(a, b)


def bias_kernel(x_ref, bias_ref, o_ref):
    o_ref[...] = x_ref[...] + bias_ref[...]


def bias_by_rows(x, bias):
    return pl.pallas_call(
        bias_kernel,
        grid=(4, 3),
        in_specs=[
            pl.BlockSpec((8, 128), lambda i, j: (i, j)),
            pl.BlockSpec((1, 128), lambda i, j: (0, j)),
        ],
        out_specs=pl.BlockSpec((8, 128), lambda i, j: (i, j)),
        out_shape=jax.ShapeDtypeStruct((32, 384), jnp.float32),
    )(x, bias)


def bias_by_columns(x, bias):
    return pl.pallas_call(
        bias_kernel,
        grid=(3, 4),
        in_specs=[
            pl.BlockSpec((8, 128), lambda j, i: (i, j)),
            pl.BlockSpec((1, 128), lambda j, i: (0, j)),
        ],
        out_specs=pl.BlockSpec((8, 128), lambda j, i: (i, j)),
        out_shape=jax.ShapeDtypeStruct((32, 384), jnp.float32),
    )(x, bias)


def make_args(kernel):
    """The arguments that each kernel is called with."""
    if kernel.startswith("matmul"):
        return np.ones((16, 256), np.float32), np.ones(
            (256, 384), np.float32
        )
    return np.ones((32, 384), np.float32), np.ones((1, 384), np.float32)
