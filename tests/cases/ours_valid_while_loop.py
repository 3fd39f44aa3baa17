# A while loop that ends: its condition tests what is carried against a number in SMEM.
# Expected: PASS
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl

def kernel(n_ref, x_ref, o_ref):
    def body(state):
        i, total, unused = state
        return i + 1, total + x_ref[pl.ds(i, 1), :], unused
    _, total, _ = jax.lax.while_loop(lambda s: s[0] < n_ref[0], body, (0, jnp.zeros((1, 128), jnp.float32), 3))
    o_ref[...] = jnp.broadcast_to(total, (8, 128))

def run(n, x):
    from jax.experimental.pallas import tpu as pltpu
    return pl.pallas_call(kernel, in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec()],
                          out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype))(n, x)

def make_args(): return np.array([5], np.int32), np.ones((8, 128), np.float32)
def reference(n, x): return np.broadcast_to(x[:5].sum(0), (8, 128))
