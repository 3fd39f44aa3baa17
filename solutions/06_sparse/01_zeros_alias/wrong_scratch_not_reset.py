# expect: interpret KT210
# Accumulates in a scratch that is not reset when the row changes: each row holds the rows before it, too.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(rows_ref, cols_ref, block_ref, dense_ref, zeros_ref, o_ref, sum_ref):
    s = pl.program_id(1)

    @pl.when(s == 0)
    def _():
        sum_ref[...] = jnp.zeros_like(sum_ref)

    sum_ref[...] += jnp.dot(block_ref[...], dense_ref[...], preferred_element_type=jnp.float32)
    o_ref[...] = sum_ref[...]


def block_sparse_matmul(rows, cols, blocks, dense, *, m):
    nnz, bm, bk = blocks.shape
    n, bn = dense.shape[1], 128
    grid_spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=2,
        grid=(n // bn, nnz),
        in_specs=[
            pl.BlockSpec((None, bm, bk), lambda j, s, rows_ref, cols_ref: (s, 0, 0)),
            pl.BlockSpec((bk, bn), lambda j, s, rows_ref, cols_ref: (cols_ref[s], j)),
            pl.BlockSpec(memory_space=pl.ANY),
        ],
        out_specs=pl.BlockSpec((bm, bn), lambda j, s, rows_ref, cols_ref: (rows_ref[s], j)),
        scratch_shapes=[pltpu.VMEM((bm, bn), jnp.float32)],
    )
    return pl.pallas_call(
        kernel,
        grid_spec=grid_spec,
        out_shape=jax.ShapeDtypeStruct((m, n), jnp.float32),
        input_output_aliases={4: 0},
    )(rows, cols, blocks, dense, jnp.zeros((m, n), jnp.float32))
