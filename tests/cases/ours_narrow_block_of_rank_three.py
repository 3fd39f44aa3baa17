# The last dimension of a rank-3 block is no multiple of 128.
# Expected: FAIL export
# Says: KT502 block tiles 128
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] + 1

def run(x):
    spec = pl.BlockSpec((1, 8, 64), lambda b, j: (b, 0, j))
    return pl.pallas_call(kernel, grid=(2, 4), in_specs=[spec], out_specs=spec, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

def make_args(): return (np.zeros((2, 8, 256), np.int32),)
def reference(x): return x + 1
