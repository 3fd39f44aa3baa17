# Refs that are reshaped before they are read or stored to: all of them, a part of them, an element at a loop's index.
# Expected: PASS
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_ref, o_ref, s_ref):
    s_ref.reshape(4, 2, 128)[...] = x_ref.reshape(8, 2, 128)[:, 1, :].reshape(4, 2, 128)
    def body(i, _):
        o_ref[pl.ds(i, 1), :] = s_ref.at[0:8].reshape(2, 4, 128)[i // 4, pl.ds(i % 4, 1), :] + x_ref.reshape(2, 8, 128)[0, pl.ds(i, 1)]
        return 0
    jax.lax.fori_loop(0, 8, body, 0)

def run(x, interpret=False):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32), scratch_shapes=[pltpu.VMEM((8,128), jnp.float32)], interpret=interpret)(x)

def make_args():
    return np.random.default_rng(0).normal(size=(16, 128)).astype(np.float32),
def reference(x): return x.reshape(8, 2, 128)[:, 1] + x[:8]
