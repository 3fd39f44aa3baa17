# expect: structure KT302 only
# Writes the blocks into a dense matrix outside, and lets the kernel do a dense product.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(a_ref, b_ref, o_ref):
    @pl.when(pl.program_id(2) == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    o_ref[...] += jnp.dot(a_ref[...], b_ref[...], preferred_element_type=jnp.float32)


def block_sparse_matmul(rows, cols, blocks, dense, *, m):
    nnz, bm, bk = blocks.shape
    (k, n), bn = dense.shape, 128
    tiles = jnp.zeros((m // bm, k // bk, bm, bk), jnp.float32).at[rows, cols].add(blocks.astype(jnp.float32))
    matrix = tiles.transpose(0, 2, 1, 3).reshape(m, k)
    return pl.pallas_call(
        kernel,
        grid=(m // bm, n // bn, k // bk),
        in_specs=[
            pl.BlockSpec((bm, bk), lambda i, j, s: (i, s)),
            pl.BlockSpec((bk, bn), lambda i, j, s: (s, j)),
        ],
        out_specs=pl.BlockSpec((bm, bn), lambda i, j, s: (i, j)),
        out_shape=jax.ShapeDtypeStruct((m, n), jnp.float32),
    )(matrix, dense.astype(jnp.float32))
