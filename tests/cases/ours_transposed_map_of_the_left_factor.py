# bf16, with the left factor's map transposed, in a loop over k inside the kernel's grid.
# Expected: FAIL numeric
# Says: KT351 a_ref b_ref index maps
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(a_ref, b_ref, o_ref, acc):
    @pl.when(pl.program_id(2) == 0)
    def _(): acc[...] = jnp.zeros_like(acc)
    acc[...] += jax.lax.dot(a_ref[...], b_ref[...], preferred_element_type=jnp.float32)  # here
    @pl.when(pl.program_id(2) == 1)
    def _(): o_ref[...] = acc[...].astype(o_ref.dtype)

def run(a, b):
    return pl.pallas_call(kernel, grid=(2, 2, 2),
        in_specs=[pl.BlockSpec((128, 128), lambda i, j, k: (k, i)), pl.BlockSpec((128, 128), lambda i, j, k: (k, j))],
        out_specs=pl.BlockSpec((128, 128), lambda i, j, k: (i, j)), scratch_shapes=[pltpu.VMEM((128, 128), jnp.float32)],
        out_shape=jax.ShapeDtypeStruct((256, 256), jnp.bfloat16))(a, b)

def make_args():
    r = np.random.default_rng(0)
    return r.standard_normal((256, 256)).astype(jnp.bfloat16), r.standard_normal((256, 256)).astype(jnp.bfloat16)
def reference(a, b): return (a.astype(np.float32) @ b.astype(np.float32)).astype(jnp.bfloat16)
