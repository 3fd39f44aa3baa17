# expect: structure KT315 only
# Copies the blocks of a row one by one, but into an output that nobody gets, until whole rows are there.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def row_sums(x, *, bm=64, bk=128):
    m, k = x.shape

    def kernel(x_ref, o_ref, rows_ref):
        rows = pl.ds(pl.multiple_of(pl.program_id(0) * bm, bm), bm)
        for start in range(0, k, bk):
            columns = pl.ds(start, bk)
            pltpu.sync_copy(x_ref.at[rows, columns], rows_ref.at[:, columns])
        o_ref[...] = jnp.sum(rows_ref[...], axis=1, keepdims=True)

    sums, _ = pl.pallas_call(
        kernel,
        grid=(m // bm,),
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=[pl.BlockSpec((bm, 1), lambda i: (i, 0)), pl.BlockSpec((bm, k), lambda i: (0, 0))],
        out_shape=[jax.ShapeDtypeStruct((m, 1), x.dtype), jax.ShapeDtypeStruct((bm, k), x.dtype)],
    )(x)
    return sums
