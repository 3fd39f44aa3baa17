# multiple_of promises more than i * 64 gives, in a load under pl.when.
# Expected: FAIL none
# Says: KT321 promised multiple of
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_ref, o_ref):
    i = pl.program_id(0)
    o_ref[...] = jnp.zeros_like(o_ref)
    @pl.when(i < 3)
    def _():
        start = pl.multiple_of(i * 64, 128)  # here
        o_ref[...] = x_ref[:, pl.ds(start, 128)]

def run(x):
    return pl.pallas_call(kernel, grid=(3,), in_specs=[pl.BlockSpec((8, 512), lambda i: (0, 0))], out_specs=pl.BlockSpec((8, 128), lambda i: (0, i)),
                          out_shape=jax.ShapeDtypeStruct((8, 384), x.dtype))(x)

def make_args(): return (np.arange(8 * 512, dtype=np.float32).reshape(8, 512),)
def reference(x): return np.concatenate([x[:, i * 64:i * 64 + 128] for i in range(3)], 1)
