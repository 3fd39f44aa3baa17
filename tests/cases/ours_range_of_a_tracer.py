# A Python loop over a number that is read from a Ref.
# Expected: FAIL trace
# Says: KT118 no number yet fori_loop
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(n_ref, x_ref, o_ref):
    o_ref[...] = x_ref[...]
    for _ in range(n_ref[0]):  # here
        o_ref[...] += 1

def run(n, x):
    return pl.pallas_call(kernel, in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec()],
                          out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(n, x)

def make_args(): return np.array([3], np.int32), np.zeros((8, 128), np.float32)
def reference(n, x): return x + 3
