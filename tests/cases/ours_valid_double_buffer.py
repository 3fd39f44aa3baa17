# Two slots, each waited for before it is read, in a fori_loop with a dynamic slot.
# Expected: PASS
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_hbm, o_ref, buf, sem):
    def copy(i): return pltpu.make_async_copy(x_hbm.at[pl.ds(8 * i, 8)], buf.at[jax.lax.rem(i, 2)], sem.at[jax.lax.rem(i, 2)])
    copy(0).start()
    def body(i, c):
        @pl.when(i < 3)
        def _(): copy(i + 1).start()
        copy(i).wait()
        o_ref[pl.ds(8 * i, 8), :] = buf[jax.lax.rem(i, 2)] * 2
        return c
    jax.lax.fori_loop(0, 4, body, 0)

def run(x):
    return pl.pallas_call(kernel, in_specs=[pl.BlockSpec(memory_space=pl.ANY)], scratch_shapes=[pltpu.VMEM((2, 8, 128), jnp.float32), pltpu.SemaphoreType.DMA((2,))],
                          out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

def make_args(): return (np.arange(32 * 128, dtype=np.float32).reshape(32, 128),)
def reference(x): return x * 2
