# Odd blocks are visited, and nothing is stored into them.
# Expected: FAIL numeric
# Says: KT350 o_ref stored
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_ref, o_ref):
    @pl.when(pl.program_id(0) % 2 == 0)
    def _():
        o_ref[...] = x_ref[...] + 1  # here

def run(x):
    spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(kernel, grid=(4,), in_specs=[spec], out_specs=spec, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

def make_args(): return (np.arange(32 * 128, dtype=np.float32).reshape(32, 128),)
def reference(x):
    y = x.reshape(4, 8, 128).copy(); y[0::2] += 1; y[1::2] = 0; return y.reshape(x.shape)
