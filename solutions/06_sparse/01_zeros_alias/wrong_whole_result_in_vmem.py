# expect: structure KT315 only
# The whole result is one block that the kernel clears itself; the zeros are aliased and never needed.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(rows_ref, cols_ref, blocks_ref, dense_ref, zeros_ref, o_ref):
    nnz, bm, bk = blocks_ref.shape
    o_ref[...] = jnp.zeros_like(o_ref)

    def add(s, carry):
        row = pl.ds(pl.multiple_of(rows_ref[s] * bm, bm), bm)
        factor = dense_ref[pl.ds(pl.multiple_of(cols_ref[s] * bk, bk), bk), :]
        o_ref[row, :] += jnp.dot(blocks_ref[s], factor, preferred_element_type=jnp.float32)
        return carry

    jax.lax.fori_loop(0, nnz, add, 0)


def block_sparse_matmul(rows, cols, blocks, dense, *, m):
    shape = (m, dense.shape[1])
    scalars, whole = pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)
    return pl.pallas_call(
        kernel,
        in_specs=[scalars, scalars, whole, whole, pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=whole,
        out_shape=jax.ShapeDtypeStruct(shape, jnp.float32),
        input_output_aliases={4: 0},
    )(rows, cols, blocks, dense, jnp.zeros(shape, jnp.float32))
