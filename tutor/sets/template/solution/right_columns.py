"""Another right answer: the grid also goes over columns, so its blocks are smaller than the reference's."""

import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def add(x, y, *, bm=64):
    m, n = x.shape
    tile = pl.BlockSpec((bm, 128), lambda i, j: (i, j))

    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] = y_ref[...] + x_ref[...]

    return pl.pallas_call(
        kernel,
        grid=(m // bm, n // 128),
        in_specs=[tile, tile],
        out_specs=tile,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel")),
    )(x, y)
