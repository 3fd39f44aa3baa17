# Two slots, and the wait is for the slot that was just started.
# Expected: FAIL tpui
# Says: KT405 wait
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_hbm, o_ref, buf, sem):
    def copy(i): return pltpu.make_async_copy(x_hbm.at[pl.ds(8 * i, 8)], buf.at[i % 2], sem.at[i % 2])
    copy(0).start()
    for i in range(4):
        if i < 3: copy(i + 1).start()
        o_ref[pl.ds(8 * i, 8), :] = buf[i % 2] * 2  # here
        copy(i).wait()

def run(x):
    return pl.pallas_call(kernel, in_specs=[pl.BlockSpec(memory_space=pl.ANY)], scratch_shapes=[pltpu.VMEM((2, 8, 128), jnp.float32), pltpu.SemaphoreType.DMA((2,))],
                          out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

def make_args(): return (np.arange(32 * 128, dtype=np.float32).reshape(32, 128),)

def reference(x): return x * 2
