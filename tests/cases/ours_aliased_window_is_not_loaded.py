# In place, and only some blocks are stored: the window of the others is written back as it is.
# Expected: FAIL tpui
# Says: KT350 o_ref stored
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_ref, o_ref):
    @pl.when(pl.program_id(0) > 1)
    def _():
        o_ref[...] = x_ref[...] + 1  # here

def run(x):
    spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(kernel, grid=(4,), in_specs=[spec], out_specs=spec, input_output_aliases={0: 0},
                          out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

def make_args(): return (np.arange(32 * 128, dtype=np.int32).reshape(32, 128),)
def reference(x):
    y = x.copy(); y[16:] += 1; return y
