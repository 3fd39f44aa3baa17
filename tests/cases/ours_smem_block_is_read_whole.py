# A block of a table in SMEM is added as a vector, in a loop.
# Expected: FAIL export
# Says: KT504 s_ref SMEM
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(s_ref, x_ref, o_ref):
    def body(i, acc): return acc + s_ref[pl.ds(i, 1), :]  # here
    o_ref[...] = x_ref[...] + jax.lax.fori_loop(0, 8, body, jnp.zeros((1, 128), jnp.float32))

def run(s, x):
    return pl.pallas_call(kernel, in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec()], out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(s, x)

def make_args(): return np.ones((8, 128), np.float32), np.zeros((8, 128), np.float32)
def reference(s, x): return x + 8
