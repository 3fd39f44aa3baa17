# A table of pages names one that is not there.
# Expected: FAIL tpui
# Says: KT328 x_ref index map
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(table_ref, x_ref, o_ref):
    o_ref[...] = x_ref[...]

def run(table, x):
    gs = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(3,), in_specs=[pl.BlockSpec((8, 128), lambda i, t: (t[i], 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i, t: (i, 0)))
    return pl.pallas_call(kernel, grid_spec=gs, out_shape=jax.ShapeDtypeStruct((24, 128), x.dtype))(table, x)

def make_args(): return np.array([0, 4, 1], np.int32), np.arange(32 * 128, dtype=np.float32).reshape(32, 128)
