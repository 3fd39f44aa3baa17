# An int8 product whose result is int8.
# Expected: FAIL export
# Says: KT510 32-bit preferred_element_type
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(a_ref, b_ref, o_ref):
    o_ref[...] = jnp.dot(a_ref[...], b_ref[...]).astype(jnp.int32)  # here

def run(a, b):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((128, 128), jnp.int32))(a, b)

def make_args(): return np.ones((128, 128), np.int8), np.eye(128, dtype=np.int8)
def reference(a, b): return np.ones((128, 128), np.int32)
