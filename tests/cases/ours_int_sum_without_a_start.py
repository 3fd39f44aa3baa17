# Integers have no NaN: a sum that starts with whatever is there.
# Expected: FAIL numeric
# Says: KT332 acc read before anything was written
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_ref, o_ref, acc):
    acc[...] += x_ref[...]  # here
    @pl.when(pl.program_id(0) == pl.num_programs(0) - 1)
    def _(): o_ref[...] = acc[...]

def run(x):
    return pl.pallas_call(kernel, grid=(4,), in_specs=[pl.BlockSpec((8, 128), lambda k: (k, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda k: (0, 0)), scratch_shapes=[pltpu.VMEM((8, 128), jnp.int32)],
        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.int32))(x)

def make_args(): return (np.ones((32, 128), np.int32),)
def reference(x): return x.reshape(4, 8, 128).sum(0)
