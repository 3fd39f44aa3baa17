# In place in HBM: every step reads what the step before wrote, and means to.
# Expected: PASS
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_hbm, o_hbm, row, total):
    i = pl.program_id(0)
    @pl.when(i == 0)
    def _(): total[...] = jnp.zeros_like(total)
    pltpu.sync_copy(x_hbm.at[pl.ds(8 * i, 8)], row)
    total[...] += row[...]
    pltpu.sync_copy(total, o_hbm.at[pl.ds(8 * i, 8)])

def run(x):
    anywhere = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(kernel, grid=(4,), in_specs=[anywhere], out_specs=anywhere, input_output_aliases={0: 0},
        scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32)] * 2, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

def make_args(): return (np.arange(32 * 128, dtype=np.float32).reshape(32, 128),)
def reference(x): return np.cumsum(x.reshape(4, 8, 128), axis=0).reshape(32, 128)
