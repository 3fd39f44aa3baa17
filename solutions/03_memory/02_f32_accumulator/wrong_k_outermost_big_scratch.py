# expect: structure KT326 only
# Saves the sums of all tiles to make k outermost work: every output block is left and visited again.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(a_ref, b_ref, o_ref, acc_ref):
    k, i, j = pl.program_id(0), pl.program_id(1), pl.program_id(2)
    bm, bn = o_ref.shape
    tile = (pl.ds(pl.multiple_of(i * bm, bm), bm), pl.ds(pl.multiple_of(j * bn, bn), bn))

    @pl.when(k == 0)
    def _():
        acc_ref[tile] = jnp.zeros((bm, bn), jnp.float32)

    acc_ref[tile] += jnp.dot(a_ref[...], b_ref[...], preferred_element_type=jnp.float32)

    @pl.when(k == pl.num_programs(0) - 1)
    def _():
        o_ref[...] = acc_ref[tile].astype(o_ref.dtype)


def matmul(a, b, *, bm=128, bn=128, bk=128):
    (m, k), n = a.shape, b.shape[1]
    return pl.pallas_call(
        kernel,
        grid=(k // bk, m // bm, n // bn),
        in_specs=[
            pl.BlockSpec((bm, bk), lambda k, i, j: (i, k)),
            pl.BlockSpec((bk, bn), lambda k, i, j: (k, j)),
        ],
        out_specs=pl.BlockSpec((bm, bn), lambda k, i, j: (i, j)),
        out_shape=jax.ShapeDtypeStruct((m, n), jnp.bfloat16),
        scratch_shapes=[pltpu.VMEM((m, n), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("arbitrary", "arbitrary", "arbitrary")),
    )(a, b)
