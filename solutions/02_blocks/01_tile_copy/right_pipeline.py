"""pl.kernel leaves both arrays in HBM; emit_pipeline brings the blocks through VMEM."""

import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def copy(x, *, bm=64, bn=128):
    m, n = x.shape
    tile = pl.BlockSpec((bm, bn), lambda i, j: (i, j))

    def kernel(x_hbm, o_hbm):
        def step(x_ref, o_ref):
            o_ref[...] = x_ref[...]

        pltpu.emit_pipeline(step, grid=(m // bm, n // bn), in_specs=[tile], out_specs=[tile])(x_hbm, o_hbm)

    mesh = pltpu.create_tensorcore_mesh("core", num_cores=1)
    return pl.kernel(kernel, jax.ShapeDtypeStruct(x.shape, x.dtype), mesh=mesh)(x)
