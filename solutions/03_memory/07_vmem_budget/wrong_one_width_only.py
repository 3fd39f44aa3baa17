# expect: interpret KT202
# Has one step along n, whatever n is: right for 2048 columns.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

BK = 1024
BN = 2048


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
        grid=(1, k // BK),
        in_specs=[
            pl.BlockSpec((m, BK), lambda j, k: (0, k)),
            pl.BlockSpec((BK, BN), lambda j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((m, BN), lambda j, k: (0, j)),
        out_shape=jax.ShapeDtypeStruct((m, n), jnp.bfloat16),
        scratch_shapes=[pltpu.VMEM((m, BN), jnp.float32)],
    )(a, b)
