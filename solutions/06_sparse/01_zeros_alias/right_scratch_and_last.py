"""The sum lives in a scratch and is stored at the last block of a row; whole rows of dense, so one grid axis.

The zeros are the first operand after the prefetched ones."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(rows_ref, cols_ref, zeros_ref, block_ref, dense_ref, o_ref, sum_ref):
    s, last = pl.program_id(0), pl.num_programs(0) - 1
    row = rows_ref[s]
    starts = jnp.logical_or(s == 0, rows_ref[jnp.maximum(s - 1, 0)] != row)
    ends = jnp.logical_or(s == last, rows_ref[jnp.minimum(s + 1, last)] != row)
    product = jnp.dot(block_ref[...], dense_ref[...], preferred_element_type=jnp.float32)
    sum_ref[...] = product + jnp.where(starts, 0.0, sum_ref[...])

    @pl.when(ends)
    def _():
        o_ref[...] = sum_ref[...]


def block_sparse_matmul(rows, cols, blocks, dense, *, m):
    nnz, bm, bk = blocks.shape
    n = dense.shape[1]
    grid_spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=2,
        grid=(nnz,),
        in_specs=[
            pl.BlockSpec(memory_space=pl.ANY),
            pl.BlockSpec((None, bm, bk), lambda s, rows_ref, cols_ref: (s, 0, 0)),
            pl.BlockSpec((bk, n), lambda s, rows_ref, cols_ref: (cols_ref[s], 0)),
        ],
        out_specs=pl.BlockSpec((bm, n), lambda s, rows_ref, cols_ref: (rows_ref[s], 0)),
        scratch_shapes=[pltpu.VMEM((bm, n), jnp.float32)],
    )
    out_shape = jax.ShapeDtypeStruct((m, n), jnp.float32)
    call = pl.pallas_call(kernel, grid_spec=grid_spec, out_shape=out_shape, input_output_aliases={2: 0})
    return call(rows, cols, jnp.zeros_like(out_shape), blocks, dense)
