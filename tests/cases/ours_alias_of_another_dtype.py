# The aliased input has another dtype than the output.
# Expected: FAIL trace
# Says: KT115 input_output_aliases
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_ref, z_ref, o_ref):
    o_ref[...] = x_ref[...] * 2

def run(x, z):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), input_output_aliases={1: 0})(x, z)  # here

def make_args(): return np.ones((16, 128), jnp.bfloat16), np.zeros((16, 128), np.float32)
