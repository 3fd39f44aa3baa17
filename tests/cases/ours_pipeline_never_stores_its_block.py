# The body of a pipeline stores its block under a condition that never holds: the window goes out as it was.
# Expected: FAIL numeric
# Says: KT332 o_hbm window pipeline
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_hbm, o_hbm, acc):
    def body(x_ref, o_ref):
        k = pl.program_id(1)
        @pl.when(k == 0)
        def _(): acc[...] = jnp.zeros_like(acc)
        acc[...] += x_ref[...]
        @pl.when(k == pl.num_programs(1))
        def _(): o_ref[...] = acc[...]
    pltpu.emit_pipeline(body, grid=(2, 2), in_specs=[pl.BlockSpec((8, 128), lambda i, k: (i, k))],  # here
        out_specs=[pl.BlockSpec((8, 128), lambda i, k: (i, 0))])(x_hbm, o_hbm)

def run(x):
    anywhere = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(kernel, in_specs=[anywhere], out_specs=anywhere, out_shape=jax.ShapeDtypeStruct((16, 128), x.dtype),
        scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32)])(x)

def make_args(): return (np.random.default_rng(0).standard_normal((16, 256)).astype(np.float32),)
def reference(x): return x[:, :128] + x[:, 128:]
