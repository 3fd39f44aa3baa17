# A regular semaphore is signalled and nothing waits for it.
# Expected: FAIL tpui
# Says: KT407 sem
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_ref, o_ref, sem):
    pl.semaphore_signal(sem, 3)
    pl.semaphore_wait(sem, 1)
    o_ref[...] = x_ref[...] + 1

def run(x):
    return pl.pallas_call(kernel, scratch_shapes=[pltpu.SemaphoreType.REGULAR], out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

def make_args(): return (np.ones((8, 128), np.float32),)
def reference(x): return x + 1
