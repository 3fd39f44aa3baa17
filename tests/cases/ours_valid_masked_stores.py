# Masked stores to a part of a Ref: with a constant index, and with an axis that is shorter than the first.
# Expected: PASS
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(n_ref, x_ref, o_ref):
    o_ref[...] = jnp.zeros_like(o_ref)
    rows = jax.lax.broadcasted_iota(jnp.int32, (8, 2, 128), 0)
    pltpu.store(o_ref.at[:, 1:3], x_ref[:, 0:2], mask=rows < n_ref[0])
    pltpu.store(o_ref.at[5], x_ref[5], mask=jax.lax.broadcasted_iota(jnp.int32, (4, 128), 0) < 2)

def run(n, x):
    return pl.pallas_call(kernel, in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)],
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(n, x)

def make_args(): return np.array([5], np.int32), np.random.default_rng(0).standard_normal((8, 4, 128)).astype(np.float32)
def reference(n, x):
    o = np.zeros_like(x); o[:5, 1:3] = x[:5, :2]; o[5, :2] = x[5, :2]
    return o
