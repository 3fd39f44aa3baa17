# A maximum takes in the padding of the last block.
# Expected: FAIL numeric
# Says: KT339 x_ref garbage mask
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_ref, o_ref):
    best = jnp.max(x_ref[...], axis=1, keepdims=True)  # here
    @pl.when(pl.program_id(0) == 0)
    def _(): o_ref[...] = jnp.broadcast_to(best, o_ref.shape)
    o_ref[...] = jnp.maximum(o_ref[...], best)

def run(x):
    return pl.pallas_call(kernel, grid=(2,), in_specs=[pl.BlockSpec((8, 256), lambda k: (0, k))],
        out_specs=pl.BlockSpec((8, 128), lambda k: (0, 0)), out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype))(x)

def make_args(): return (np.random.default_rng(0).standard_normal((8, 384), dtype=np.float32),)
def reference(x): return np.repeat(x.max(1, keepdims=True), 128, 1)
