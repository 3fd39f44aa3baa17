# expect: structure KT314 only
# The result is aliased from x and the kernel does nothing: XLA makes the copy.

import jax
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    pass


def copy(x, *, bm=64, bn=128):
    stays = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(
        kernel,
        in_specs=[stays],
        out_specs=stays,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        input_output_aliases={0: 0},
    )(x)
