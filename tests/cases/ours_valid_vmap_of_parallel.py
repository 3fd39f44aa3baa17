# vmap puts an axis into the grid that `dimension_semantics` does not count: two cores share it all the same.
# Expected: PASS
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_ref, o_ref):
    @pl.when(pl.program_id(1) == 0)
    def _(): o_ref[...] = jnp.zeros_like(o_ref)
    o_ref[...] += x_ref[...]

def column_sums(x):
    return pl.pallas_call(kernel, grid=(2, 2), in_specs=[pl.BlockSpec((8, 128), lambda i, k: (k, i))],
        out_specs=pl.BlockSpec((8, 128), lambda i, k: (0, i)), out_shape=jax.ShapeDtypeStruct((8, 256), x.dtype),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary")))(x)

def run(x): return jax.vmap(column_sums)(x)
def make_args(): return (np.random.default_rng(0).standard_normal((2, 16, 256)).astype(np.float32),)
def reference(x): return x[:, :8] + x[:, 8:]
