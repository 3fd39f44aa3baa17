# The first of two axes is parallel, and the output does not depend on it.
# Expected: FAIL 2core
# Says: KT325 o_ref parallel arbitrary
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_ref, o_ref):
    @pl.when(pl.program_id(0) == 0)
    def _(): o_ref[...] = jnp.zeros_like(o_ref)
    o_ref[...] += x_ref[...]

def run(x):
    return pl.pallas_call(kernel, grid=(4,), in_specs=[pl.BlockSpec((None, 8, 128), lambda b: (b, 0, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda b: (0, 0)), compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
        out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype))(x)

def make_args(): return (np.ones((4, 8, 128), np.int32),)
def reference(x): return x.sum(0)
