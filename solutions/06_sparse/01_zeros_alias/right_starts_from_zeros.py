"""The zeros come block by block with the output's own index map, and the first block of a row is added to them."""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(rows_ref, cols_ref, block_ref, dense_ref, zeros_ref, o_ref):
    s = pl.program_id(1)
    product = jnp.dot(block_ref[0], dense_ref[...], preferred_element_type=jnp.float32)
    same_row = (s > 0) & (rows_ref[s] == rows_ref[jnp.maximum(s, 1) - 1])

    @pl.when(same_row)
    def add():
        o_ref[...] += product

    @pl.when(jnp.logical_not(same_row))
    def start():
        o_ref[...] = zeros_ref[...] + product


@functools.partial(jax.jit, static_argnames="m")
def block_sparse_matmul(rows, cols, blocks, dense, *, m):
    nnz, bm, bk = blocks.shape
    n = dense.shape[1]
    tile = pl.BlockSpec((bm, 128), lambda j, s, row_of, col_of: (row_of[s], j))
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), jnp.float32),
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=2,
            grid=(n // 128, nnz),
            in_specs=[
                pl.BlockSpec((1, bm, bk), lambda j, s, row_of, col_of: (s, 0, 0)),
                pl.BlockSpec((bk, 128), lambda j, s, row_of, col_of: (col_of[s], j)),
                tile,
            ],
            out_specs=tile,
        ),
        input_output_aliases={4: 0},
    )(rows, cols, blocks, dense, jnp.full((m, n), 0.0, jnp.float32))
