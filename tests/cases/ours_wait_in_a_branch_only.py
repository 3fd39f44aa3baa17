# The wait stands under a condition that is never true.
# Expected: FAIL tpui
# Says: KT323 copy sem
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_hbm, o_ref, buf, sem):
    copy = pltpu.make_async_copy(x_hbm, buf, sem)
    copy.start()  # here
    @pl.when(pl.program_id(0) > 5)
    def _(): copy.wait()
    o_ref[...] = buf[...] + 1

def run(x):
    return pl.pallas_call(kernel, grid=(1,), in_specs=[pl.BlockSpec(memory_space=pl.ANY)], out_specs=pl.BlockSpec((8, 128), lambda i: (0, 0)),
        scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32), pltpu.SemaphoreType.DMA], out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

def make_args(): return (np.ones((8, 128), np.float32),)
def reference(x): return x + 1
