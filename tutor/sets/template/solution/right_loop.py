"""Another right answer, in another style: a loop over eight rows at a time. It keeps the rules honest."""

import jax
from jax.experimental import pallas as pl


def add(x, y, *, bm=64):
    m, n = x.shape

    def kernel(x_ref, y_ref, o_ref):
        @pl.loop(0, bm // 8)
        def _(r):
            rows = pl.ds(pl.multiple_of(r * 8, 8), 8)
            o_ref[rows, :] = x_ref[rows, :] + y_ref[rows, :]

    block = pl.BlockSpec((bm, n), lambda i: (i, 0))
    return pl.pallas_call(
        kernel,
        grid=(pl.cdiv(m, bm),),
        in_specs=[block, block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, y)
