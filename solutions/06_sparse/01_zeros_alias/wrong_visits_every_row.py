# expect: structure KT307 only
# Makes every row visited: all block rows run over all blocks and skip those of other rows.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(rows_ref, cols_ref, block_ref, dense_ref, o_ref):
    i, s = pl.program_id(1), pl.program_id(2)

    @pl.when(s == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    @pl.when(rows_ref[s] == i)
    def _():
        o_ref[...] += jnp.dot(block_ref[...], dense_ref[...], preferred_element_type=jnp.float32)


def block_sparse_matmul(rows, cols, blocks, dense, *, m):
    nnz, bm, bk = blocks.shape
    n, bn = dense.shape[1], 128
    grid_spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=2,
        grid=(n // bn, m // bm, nnz),
        in_specs=[
            pl.BlockSpec((None, bm, bk), lambda j, i, s, rows_ref, cols_ref: (s, 0, 0)),
            pl.BlockSpec((bk, bn), lambda j, i, s, rows_ref, cols_ref: (cols_ref[s], j)),
        ],
        out_specs=pl.BlockSpec((bm, bn), lambda j, i, s, rows_ref, cols_ref: (i, j)),
    )
    return pl.pallas_call(
        kernel,
        grid_spec=grid_spec,
        out_shape=jax.ShapeDtypeStruct((m, n), jnp.float32),
    )(rows, cols, blocks, dense)
