# A store into a Ref in ANY, inside a loop.
# Expected: FAIL tpui/export
# Says: KT336 o_hbm ANY copy
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_ref, o_hbm):
    def body(i, c):
        o_hbm[pl.ds(8 * i, 8), :] = x_ref[pl.ds(8 * i, 8), :] * 2  # here
        return c
    jax.lax.fori_loop(0, 2, body, 0)

def run(x):
    return pl.pallas_call(kernel, out_specs=pl.BlockSpec(memory_space=pl.ANY), out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

def make_args(): return (np.arange(16 * 128, dtype=np.int32).reshape(16, 128),)
def reference(x): return x * 2
