"""What fits.

wide_matmul(a, b): a is (64, k) bfloat16, b is (k, n) bfloat16, the result is (64, n) bfloat16.
k is a multiple of 1024, n of 2048.
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

BK = 1024
BN = 256  # TODO: the largest power of two that fits both v5e and v6e


def kernel(a_ref, b_ref, o_ref, acc_ref):
    k = pl.program_id(1)

    @pl.when(k == 0)
    def _():
        acc_ref[...] = jnp.zeros_like(acc_ref)

    acc_ref[...] += jnp.dot(a_ref[...], b_ref[...], preferred_element_type=jnp.float32)

    @pl.when(k == pl.num_programs(1) - 1)
    def _():
        o_ref[...] = acc_ref[...].astype(o_ref.dtype)


def wide_matmul(a, b):
    (m, k), n = a.shape, b.shape[1]
    return pl.pallas_call(
        kernel,
        grid=(n // BN, k // BK),
        in_specs=[
            pl.BlockSpec((m, BK), lambda j, k: (0, k)),
            pl.BlockSpec((BK, BN), lambda j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((m, BN), lambda j, k: (0, j)),
        out_shape=jax.ShapeDtypeStruct((m, n), jnp.bfloat16),
        scratch_shapes=[pltpu.VMEM((m, BN), jnp.float32)],
    )(a, b)
