# The output is set to zero at every step of the sum.
# Expected: FAIL numeric
# Says: KT347 o_ref lost first value
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_ref, o_ref):
    o_ref[...] = jnp.zeros_like(o_ref)  # here
    o_ref[...] += x_ref[...]

def run(x):
    return pl.pallas_call(kernel, grid=(2, 4), in_specs=[pl.BlockSpec((8, 128), lambda i, k: (i, k))],
        out_specs=pl.BlockSpec((8, 128), lambda i, k: (i, 0)), out_shape=jax.ShapeDtypeStruct((16, 128), x.dtype))(x)

def make_args(): return (np.arange(16 * 512, dtype=np.float32).reshape(16, 512),)
def reference(x): return x.reshape(16, 4, 128).sum(1)
