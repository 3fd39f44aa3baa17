# Kernels inside scan, cond and fori_loop under jit; a number and None among the arguments.
# Expected: PASS
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import functools

def kernel(s_ref, x_ref, o_ref): o_ref[...] = x_ref[...] * s_ref[0].astype(jnp.float32)

def step(x, s):
    specs = [pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec()]
    return pl.pallas_call(kernel, in_specs=specs, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(s[None], x), None

@functools.partial(jax.jit, static_argnames="n")
def run(x, s, n, unused=True):
    y, _ = jax.lax.scan(step, x, s)
    y = jax.lax.cond(s[0] > 0, lambda y: step(y, jnp.int32(3))[0], lambda y: y, y)
    return jax.lax.fori_loop(0, n, lambda i, y: step(y, jnp.int32(2))[0], y)

def make_args(): return np.ones((8, 128), np.float32), np.array([1, 2, 3]), 4, None
def reference(x, s, n, unused): return x * 6 * 3 * 16
