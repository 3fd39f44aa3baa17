# A regular semaphore where a DMA semaphore belongs, in run_scoped.
# Expected: FAIL trace
# Says: KT116 semaphore DMA
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_hbm, o_ref):
    def body(sem):
        copy = pltpu.make_async_copy(x_hbm, o_ref, sem)
        copy.start()
        copy.wait()  # here
    pl.run_scoped(body, pltpu.SemaphoreType.REGULAR)

def run(x):
    return pl.pallas_call(kernel, in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
                          out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

def make_args(): return (np.arange(8 * 128, dtype=np.float32).reshape(8, 128),)
