"""The same width; inside a step two products of half of it, and the first step stores."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

DEPTH, WIDTH = 1024, 2048
HALF = WIDTH // 2


def wide_matmul(a, b):
    m, k = a.shape
    n = b.shape[1]
    steps = k // DEPTH

    def body(a_ref, b_ref, o_ref, sum_ref):
        step = pl.program_id(1)
        for start in (0, HALF):
            columns = slice(start, start + HALF)
            product = jnp.matmul(a_ref[...], b_ref[:, columns], preferred_element_type=jnp.float32)

            @pl.when(step == 0)
            def _(columns=columns, product=product):
                sum_ref[:, columns] = product

            @pl.when(step > 0)
            def _(columns=columns, product=product):
                sum_ref[:, columns] = sum_ref[:, columns] + product

        @pl.when(step == steps - 1)
        def _():
            o_ref[...] = sum_ref[...].astype(jnp.bfloat16)

    return pl.pallas_call(
        body,
        out_shape=jax.ShapeDtypeStruct((m, n), jnp.bfloat16),
        grid=(n // WIDTH, steps),
        in_specs=[
            pl.BlockSpec((m, DEPTH), lambda column, step: (0, step)),
            pl.BlockSpec((DEPTH, WIDTH), lambda column, step: (step, column)),
        ],
        out_specs=pl.BlockSpec((m, WIDTH), lambda column, step: (0, column)),
        scratch_shapes=[pltpu.VMEM((m, WIDTH), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary")),
    )(a, b)
