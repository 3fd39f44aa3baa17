# In place, with a partial last block: the simulator refuses it, a TPU does not.
# Expected: PASS
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_ref, o_ref): o_ref[...] = x_ref[...] + 1

def run(x):
    spec = pl.BlockSpec((16, 128), lambda i: (i, 0))
    return pl.pallas_call(kernel, grid=(3,), in_specs=[spec], out_specs=spec, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
                          input_output_aliases={0: 0})(x)

def make_args(): return (np.ones((40, 128), np.float32),)
def reference(x): return x + 1
