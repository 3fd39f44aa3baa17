# expect: structure KT326
# Puts k first in the grid: interpret mode gets the right sums, a TPU loses all terms but the last.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, o_ref):
    k = pl.program_id(0)

    @pl.when(k == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    o_ref[...] += jnp.sum(x_ref[...], axis=1, keepdims=True)


def row_sums(x, *, bm=64, bk=128):
    m, k = x.shape
    return pl.pallas_call(
        kernel,
        grid=(k // bk, m // bm),
        in_specs=[pl.BlockSpec((bm, bk), lambda k, i: (i, k))],
        out_specs=pl.BlockSpec((bm, 1), lambda k, i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((m, 1), x.dtype),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("arbitrary", "arbitrary")),
    )(x)
