# An operation without a TPU lowering, inside pl.when.
# Expected: FAIL export
# Says: KT506 sort no TPU lowering
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]
    @pl.when(x_ref[0, 0] < 1)
    def _(): o_ref[...] = jnp.sort(x_ref[...], axis=1)  # here

def run(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

def make_args(): return (np.arange(8 * 128, dtype=np.float32).reshape(8, 128),)

def reference(x): return np.sort(x, axis=1)
