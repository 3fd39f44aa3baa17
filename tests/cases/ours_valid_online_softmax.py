# Running maximum and sum in scratch, a masked ragged edge, and two outputs.
# Expected: PASS
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_ref, o_ref, l_ref, m, l):
    k = pl.program_id(1)
    @pl.when(k == 0)
    def _():
        m[...] = jnp.full_like(m, -1e30)
        l[...] = jnp.zeros_like(l)
    column = jax.lax.broadcasted_iota(jnp.int32, (8, 256), 1) + k * 256
    x = jnp.where(column < 384, x_ref[...], -1e30)
    new = jnp.maximum(m[...], jnp.max(x, axis=1, keepdims=True))
    l[...] = l[...] * jnp.exp(m[...] - new) + jnp.sum(jnp.exp(x - new[:, :1]), axis=1, keepdims=True)
    m[...] = new
    @pl.when(k == pl.num_programs(1) - 1)
    def _():
        o_ref[...] = m[...]
        l_ref[...] = l[...]

def run(x):
    out = pl.BlockSpec((8, 128), lambda i, k: (i, 0))
    s = jax.ShapeDtypeStruct((16, 128), jnp.float32)
    return pl.pallas_call(kernel, grid=(2, 2), in_specs=[pl.BlockSpec((8, 256), lambda i, k: (i, k))], out_specs=[out, out], out_shape=[s, s],
        scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32)] * 2, compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary")))(x)

def make_args(): return (np.random.default_rng(0).standard_normal((16, 384), dtype=np.float32),)
def reference(x):
    top = x.max(1, keepdims=True)
    return np.repeat(top, 128, 1), np.repeat(np.exp(x - top).sum(1, keepdims=True), 128, 1)
