# A scalar is read out of HBM in the condition of pl.when.
# Expected: FAIL tpui/export
# Says: KT336 flag_hbm copy
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(flag_hbm, x_ref, o_ref):
    o_ref[...] = x_ref[...]
    @pl.when(flag_hbm[0, 0] > 0)  # here
    def _(): o_ref[...] = x_ref[...] + 1

def run(flag, x):
    return pl.pallas_call(kernel, in_specs=[pl.BlockSpec(memory_space=pltpu.HBM), pl.BlockSpec()],
                          out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(flag, x)

def make_args(): return np.ones((8, 128), np.int32), np.zeros((8, 128), np.float32)
def reference(flag, x): return x + 1
