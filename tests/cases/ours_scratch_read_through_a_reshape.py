# A scratch that nothing wrote is read through a reshaped Ref.
# Expected: FAIL numeric
# Says: KT401 memory nothing wrote
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_ref, o_ref, s):
    o_ref[...] = x_ref[...] + s.reshape(2, 4, 128)[0, pl.ds(1, 1), :]  # here

def run(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32), scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32)])(x)

def make_args():
    return np.arange(8 * 128, dtype=np.float32).reshape(8, 128) % 7,
def reference(x): return x
