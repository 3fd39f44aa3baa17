"""Computes the width from the budget; the sum starts with where."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

LIMIT, DEPTH = 16 * 2**20, 1024


def needed(m, width):
    """Bytes of two windows of a, b and the result, and of the scratch."""
    return 2 * 2 * (m * DEPTH + DEPTH * width + m * width) + 4 * m * width


def kernel(a_ref, b_ref, o_ref, sum_ref):
    step = pl.program_id(1)
    before = jnp.where(step == 0, 0.0, sum_ref[...])
    sum_ref[...] = before + jax.lax.dot(a_ref[...], b_ref[...], preferred_element_type=jnp.float32)

    @pl.when(step == pl.num_programs(1) - 1)
    def _():
        o_ref[...] = sum_ref[...].astype(o_ref.dtype)


def wide_matmul(a, b):
    (m, k), (_, n) = a.shape, b.shape
    width = max(w for w in (256, 512, 1024, 2048, 4096) if needed(m, w) <= LIMIT)
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), jnp.bfloat16),
        grid=(pl.cdiv(n, width), k // DEPTH),
        in_specs=[
            pl.BlockSpec((m, DEPTH), lambda j, s: (0, s)),
            pl.BlockSpec((DEPTH, width), lambda j, s: (s, j)),
        ],
        out_specs=pl.BlockSpec((m, width), lambda j, s: (0, j)),
        scratch_shapes=[pltpu.VMEM((m, width), jnp.float32)],
    )(a, b)
