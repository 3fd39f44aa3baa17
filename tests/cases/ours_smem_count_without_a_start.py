# A counter in SMEM that nothing sets to zero.
# Expected: FAIL numeric
# Says: KT332 n read before anything was written
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_ref, o_ref, n):
    n[0] += 1  # here
    o_ref[...] = x_ref[...] + n[0]

def run(x):
    spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(kernel, grid=(2,), in_specs=[spec], out_specs=spec, scratch_shapes=[pltpu.SMEM((1,), jnp.int32)],
                          out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

def make_args(): return (np.zeros((16, 128), np.int32),)
def reference(x): return x + np.repeat([1, 2], 8)[:, None]
