# Zeros in ANY aliased onto an output with a partial last block, rows from a table.
# Expected: PASS
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(rows_ref, x_ref, zeros_ref, o_ref): o_ref[...] = x_ref[...] + 1

def run(rows, x, zeros):
    gs = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(2,),
        in_specs=[pl.BlockSpec((16, 128), lambda i, r: (i, 0)), pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=pl.BlockSpec((16, 128), lambda i, r: (r[i], 0)))
    return pl.pallas_call(kernel, grid_spec=gs, out_shape=jax.ShapeDtypeStruct(zeros.shape, zeros.dtype), input_output_aliases={2: 0})(rows, x, zeros)

def make_args(): return np.array([0, 2], np.int32), np.ones((32, 128), np.float32), np.zeros((40, 128), np.float32)
def reference(rows, x, zeros):
    out = zeros.copy(); out[:16] = 2; out[32:] = 2; return out
