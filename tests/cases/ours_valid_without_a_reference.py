# No reference: interpret mode is compared with the simulator. A list as argument.
# Expected: PASS
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_ref, y_ref, o_ref): o_ref[...] = x_ref[...] * y_ref[...]

def run(pair):
    x, y = pair
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, y)

def make_args(): return ([np.ones((8, 128), np.float32), jnp.full((8, 128), 3, jnp.float32)],)
