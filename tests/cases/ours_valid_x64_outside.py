# 64-bit types are on, and the kernel keeps to 32 bits.
# Expected: PASS
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

CONFIG = {"jax_enable_x64": True}

def kernel(x_ref, o_ref): o_ref[...] = x_ref[...] + np.float32(1)

def run(x):
    y = pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, jnp.float32))(x.astype(jnp.float32))
    return y.astype(jnp.float64)

def make_args(): return (np.ones((8, 128), np.float64),)
def reference(x): return x + 1
