# A bool mask and a count in SMEM.
# Expected: PASS
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_ref, o_ref, n_ref):
    @pl.when(pl.program_id(0) == 0)
    def _(): n_ref[0] = 0
    n_ref[0] += 1
    o_ref[...] = x_ref[...] > 0

def run(x):
    spec = pl.BlockSpec((32, 128), lambda i: (i, 0))
    return pl.pallas_call(kernel, grid=(2,), in_specs=[spec], out_specs=[spec, pl.BlockSpec(memory_space=pltpu.SMEM)],
                          out_shape=[jax.ShapeDtypeStruct(x.shape, jnp.bool_), jax.ShapeDtypeStruct((1,), jnp.int32)])(x)

def make_args(): return (np.random.default_rng(0).standard_normal((64, 128), dtype=np.float32),)
def reference(x): return x > 0, np.array([2], np.int32)
