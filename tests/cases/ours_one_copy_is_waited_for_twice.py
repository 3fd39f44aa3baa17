# Two waits and one start.
# Expected: FAIL hang
# Says: KT322 sem waits
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

MAY_HANG = True

def kernel(x_hbm, o_ref, buf, sem):
    copy = pltpu.make_async_copy(x_hbm, buf, sem)
    copy.start()
    copy.wait()
    copy.wait()  # here
    o_ref[...] = buf[...]

def run(x):
    return pl.pallas_call(kernel, in_specs=[pl.BlockSpec(memory_space=pl.ANY)], scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32), pltpu.SemaphoreType.DMA],
                          out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

def make_args(): return (np.arange(8 * 128, dtype=np.float32).reshape(8, 128),)

def reference(x): return x
