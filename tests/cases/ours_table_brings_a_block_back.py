# A table that is not sorted: an output block is left and comes back.
# Expected: FAIL tpui
# Says: KT326 o_ref visited again
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(rows_ref, x_ref, o_ref):
    i = pl.program_id(0)
    @pl.when((i == 0) | (rows_ref[i] != rows_ref[jnp.maximum(i - 1, 0)]))
    def _(): o_ref[...] = jnp.zeros_like(o_ref)
    o_ref[...] += x_ref[...]

def run(rows, x):
    gs = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(4,), in_specs=[pl.BlockSpec((8, 128), lambda i, r: (i, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i, r: (r[i], 0)))
    return pl.pallas_call(kernel, grid_spec=gs, out_shape=jax.ShapeDtypeStruct((16, 128), x.dtype))(rows, x)

def make_args(): return np.array([0, 1, 0, 1], np.int32), np.ones((32, 128), np.float32)
def reference(rows, x): return np.full((16, 128), 2, np.float32)
