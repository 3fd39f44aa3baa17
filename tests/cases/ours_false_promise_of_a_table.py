# A sublane offset from a prefetched table is promised to be a multiple of 8.
# Expected: FAIL none
# Says: KT321 promised multiple of 8
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(off_ref, x_ref, o_ref):
    o_ref[...] = x_ref[pl.ds(pl.multiple_of(off_ref[pl.program_id(0)], 8), 8), :]  # here

def run(off, x):
    gs = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(2,), in_specs=[pl.BlockSpec((64, 128), lambda i, o: (0, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i, o: (i, 0)))
    return pl.pallas_call(kernel, grid_spec=gs, out_shape=jax.ShapeDtypeStruct((16, 128), x.dtype))(off, x)

def make_args(): return np.array([8, 20], np.int32), np.arange(64 * 128, dtype=np.float32).reshape(64, 128)
def reference(off, x): return np.concatenate([x[8:16], x[20:28]])
