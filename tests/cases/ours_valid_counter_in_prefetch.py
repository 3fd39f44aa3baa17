# A scalar-prefetch Ref that no index map reads says which half of a buffer comes next, from step to step.
# Expected: PASS
import jax, jax.numpy as jnp, numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

N = 3

def kernel(slot_ref, x_hbm, o_ref, buffer, sems):
    i = pl.program_id(0)
    def fetch(block, slot): return pltpu.make_async_copy(x_hbm.at[pl.ds(block * 8, 8)], buffer.at[slot], sems.at[slot])
    @pl.when(i == 0)
    def _(): fetch(0, slot_ref[0]).start()
    slot = slot_ref[0]
    @pl.when(i + 1 < N)
    def _(): fetch(i + 1, 1 - slot).start()
    fetch(i, slot).wait()
    o_ref[...] = buffer[slot] * 2
    slot_ref[0] = 1 - slot

def run(slot, x):
    grid = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(N,), in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=pl.BlockSpec((8, 128), lambda i, slot: (i, 0)), scratch_shapes=[pltpu.VMEM((2, 8, 128), jnp.float32), pltpu.SemaphoreType.DMA((2,))])
    return pl.pallas_call(kernel, grid_spec=grid, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(slot, x)

def make_args(): return np.zeros(1, np.int32), np.arange(N * 8 * 128, dtype=np.float32).reshape(N * 8, 128)
def reference(slot, x): return x * 2
