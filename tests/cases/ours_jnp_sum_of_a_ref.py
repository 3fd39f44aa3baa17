# A jnp function is given the Ref itself.
# Expected: FAIL trace
# Says: KT117 is a Ref x_ref[...]
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_ref, o_ref):
    o_ref[...] = jnp.zeros_like(o_ref) + jnp.sum(x_ref)  # here

def run(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

def make_args(): return (np.arange(8 * 128, dtype=np.float32).reshape(8, 128),)

def reference(x): return np.full_like(x, x.sum())
