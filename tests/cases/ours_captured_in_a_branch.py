# A table from outside, used in a nested body.
# Expected: FAIL trace
# Says: KT112 not one of its refs
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

TABLE = jnp.arange(8 * 128, dtype=jnp.int32).reshape(8, 128)

def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]
    @pl.when(x_ref[0, 0] > 0)
    def _():
        o_ref[...] = x_ref[...] + TABLE.astype(jnp.float32)

def run(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

def make_args(): return (np.arange(8 * 128, dtype=np.float32).reshape(8, 128),)
