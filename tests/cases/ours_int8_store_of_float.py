# The stored value has the dtype of its arithmetic, in a loop.
# Expected: FAIL trace
# Says: KT113 int8 float32 astype
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_ref, o_ref):
    def body(i, c):
        o_ref[pl.ds(32 * i, 32), :] = x_ref[pl.ds(32 * i, 32), :].astype(jnp.float32) * 2  # here
        return c
    jax.lax.fori_loop(0, 2, body, 0)

def run(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

def make_args(): return (np.ones((64, 128), np.int8),)
def reference(x): return x * 2
