# Overlapping windows of `pl.Element` whose last ones reach into padding: a TPU has it, the simulator does not.
# Expected: PASS
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl

def kernel(x_ref, o_ref): o_ref[...] = x_ref[:8] * 2

def run(x):
    return pl.pallas_call(kernel, grid=(4,), in_specs=[pl.BlockSpec((pl.Element(16, (0, 8)), pl.Element(128)), lambda i: (i * 8, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)), out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

def make_args(): return (np.random.default_rng(0).standard_normal((32, 128)).astype(np.float32),)
def reference(x): return x * 2
