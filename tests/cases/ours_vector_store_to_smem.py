# A whole vector is stored to an output in SMEM.
# Expected: FAIL export
# Says: KT513 o_ref SMEM
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[0, :]  # here

def run(x):
    return pl.pallas_call(kernel, out_specs=pl.BlockSpec(memory_space=pltpu.SMEM), out_shape=jax.ShapeDtypeStruct((128,), x.dtype))(x)

def make_args(): return (np.arange(8 * 128, dtype=np.float32).reshape(8, 128),)
def reference(x): return x[0]
