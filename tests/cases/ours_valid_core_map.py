# core_map on Refs of the program outside.
# Expected: PASS
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def run(x):
    mesh = pltpu.create_tensorcore_mesh("core", num_cores=1)
    def body(refs):
        x_ref, o_ref = refs
        @pl.core_map(mesh)
        def _():
            def with_scratch(v):
                pltpu.sync_copy(x_ref, v)
                v[...] = v[...] * 2
                pltpu.sync_copy(v, o_ref)
            pl.run_scoped(with_scratch, pltpu.VMEM((8, 128), jnp.float32))
    return pl.run_state(body)((x, jnp.zeros_like(x)))[1]

def make_args(): return (np.random.default_rng(0).standard_normal((8, 128), dtype=np.float32),)
def reference(x): return x * 2
