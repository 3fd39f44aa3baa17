# The last turn of a loop stores past the end.
# Expected: FAIL tpui
# Says: KT329 o_ref elements
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]
    def body(i, c):
        o_ref[pl.ds(16 * i, 16), :] = jnp.zeros((16, 128), jnp.float32)  # here
        return c
    jax.lax.fori_loop(0, 3, body, 0)

def run(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

def make_args(): return (np.ones((40, 128), np.float32),)
def reference(x): return np.zeros_like(x)
