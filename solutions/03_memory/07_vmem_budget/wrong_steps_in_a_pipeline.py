# expect: structure KT312 only
# Narrow blocks, in a grid of one step: a pipeline inside the kernel takes the many steps.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

BK, BN = 512, 256


def wide_matmul(a, b):
    (m, k), n = a.shape, b.shape[1]

    def kernel(a_ref, b_ref, o_ref, acc_ref):
        def turn(a_block, b_block, o_block):
            step = pl.program_id(1)

            @pl.when(step == 0)
            def _():
                acc_ref[...] = jnp.zeros_like(acc_ref)

            acc_ref[...] += jnp.dot(a_block[...], b_block[...], preferred_element_type=jnp.float32)

            @pl.when(step == k // BK - 1)
            def _():
                o_block[...] = acc_ref[...].astype(o_block.dtype)

        pltpu.emit_pipeline(
            turn,
            grid=(n // BN, k // BK),
            in_specs=[
                pl.BlockSpec((m, BK), lambda j, step: (0, step)),
                pl.BlockSpec((BK, BN), lambda j, step: (step, j)),
            ],
            out_specs=[pl.BlockSpec((m, BN), lambda j, step: (0, j))],
        )(a_ref, b_ref, o_ref)

    anywhere = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(
        kernel,
        in_specs=[anywhere, anywhere],
        out_specs=anywhere,
        out_shape=jax.ShapeDtypeStruct((m, n), jnp.bfloat16),
        scratch_shapes=[pltpu.VMEM((m, BN), jnp.float32)],
    )(a, b)
