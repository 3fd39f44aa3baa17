# The alias forgets the prefetch operand, and shapes agree: the output starts with x, not with zeros.
# Expected: FAIL numeric
# Says: KT349 never visited x_ref input_output_aliases
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(rows_ref, x_ref, zeros_ref, o_ref):
    o_ref[...] = x_ref[...] * 2

def run(rows, x):
    spec = lambda f: pl.BlockSpec((8, 128), f)
    gs = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(2,),
        in_specs=[spec(lambda i, r: (i, 0)), pl.BlockSpec(memory_space=pl.ANY)], out_specs=spec(lambda i, r: (r[i], 0)))
    return pl.pallas_call(kernel, grid_spec=gs, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
                          input_output_aliases={1: 0})(rows, x, jnp.zeros_like(x))

def make_args(): return np.array([0, 2], np.int32), np.arange(32 * 128, dtype=np.float32).reshape(32, 128) + 1
def reference(rows, x):
    y = np.zeros_like(x); y[:8] = x[:8] * 2; y[16:24] = x[8:16] * 2; return y
