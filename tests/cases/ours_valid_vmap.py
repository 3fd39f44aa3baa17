# A kernel under vmap: a grid axis is added.
# Expected: PASS
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_ref, y_ref, o_ref):
    o_ref[...] = x_ref[...] * y_ref[...] + 1

def one(x, y):
    spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(kernel, grid=(2,), in_specs=[spec, spec], out_specs=spec, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, y)

def run(x, y): return jax.vmap(one, in_axes=(0, None))(x, y)

def make_args():
    r = np.random.default_rng(0)
    return r.standard_normal((3, 16, 128), dtype=np.float32), r.standard_normal((16, 128), dtype=np.float32)
def reference(x, y): return x * y + 1
