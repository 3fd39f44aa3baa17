# Four copies are started, and the first of them is waited for four times.
# Expected: FAIL hang
# Says: KT322 sems 512 bytes
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_hbm, o_hbm, sems):
    copies = [pltpu.make_async_copy(x_hbm.at[pl.ds(i, 1)], o_hbm.at[pl.ds(3 - i, 1)], sems.at[i]) for i in range(4)]
    for copy in copies: copy.start()
    for _ in copies: copies[0].wait()  # here

def run(x):
    anywhere = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(kernel, in_specs=[anywhere], out_specs=anywhere, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.SemaphoreType.DMA((4,))])(x)

MAY_HANG = True
def make_args(): return (np.arange(4 * 128, dtype=np.float32).reshape(4, 128),)
def reference(x): return x[::-1]
