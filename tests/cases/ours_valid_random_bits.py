# TPU random bits: interpret mode has none, the simulator has.
# Expected: PASS
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(seed_ref, x_ref, o_ref):
    pltpu.prng_seed(seed_ref[0])
    bits = pltpu.prng_random_bits((8, 128))
    o_ref[...] = jnp.where(bits > 0, x_ref[...], x_ref[...])

def run(seed, x):
    return pl.pallas_call(kernel, in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec()], out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(seed, x)

def make_args(): return np.array([3], np.int32), np.ones((8, 128), np.float32)
def reference(seed, x): return x
