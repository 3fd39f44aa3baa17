# expect: structure KT314 only
# XLA transposes; the kernel copies, and has a transpose only where no step comes.

import jax
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]

    @pl.when(pl.program_id(0) < 0)
    def _():
        o_ref[...] = x_ref[...].T


def transpose(x, *, b=128):
    m, n = x.shape
    return pl.pallas_call(
        kernel,
        grid=(n // b, m // b),
        in_specs=[pl.BlockSpec((b, b), lambda i, j: (i, j))],
        out_specs=pl.BlockSpec((b, b), lambda i, j: (i, j)),
        out_shape=jax.ShapeDtypeStruct((n, m), x.dtype),
    )(x.T)
