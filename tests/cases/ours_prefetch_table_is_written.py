# A scalar-prefetch table is changed on the way, and later steps are to follow it.
# Expected: FAIL tpui
# Says: KT337 table_ref scalar-prefetch
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(table_ref, x_ref, o_ref):
    o_ref[...] = x_ref[...] + 1
    @pl.when(pl.program_id(0) == 0)
    def _(): table_ref[2] = 0  # here

def run(table, x):
    gs = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(3,), in_specs=[pl.BlockSpec((8, 128), lambda i, t: (t[i], 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i, t: (i, 0)))
    return pl.pallas_call(kernel, grid_spec=gs, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(table, x)

def make_args(): return np.array([0, 1, 2], np.int32), np.arange(24 * 128, dtype=np.float32).reshape(24, 128)
def reference(table, x): return x + 1
