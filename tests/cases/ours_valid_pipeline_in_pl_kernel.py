# A bf16 matmul as emit_pipeline inside pl.kernel.
# Expected: PASS
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def run(a, b, *, interpret=False):
    m, k = a.shape; n = b.shape[1]
    @pl.kernel(out_type=jax.ShapeDtypeStruct((m, n), jnp.float32), mesh=pltpu.create_tensorcore_mesh("core", num_cores=1), interpret=interpret)
    def matmul(a_hbm, b_hbm, o_hbm):
        def body(a_ref, b_ref, o_ref):
            @pl.when(pl.program_id(2) == 0)
            def _(): o_ref[...] = jnp.zeros_like(o_ref)
            o_ref[...] += jnp.dot(a_ref[...], b_ref[...], preferred_element_type=jnp.float32)
        pltpu.emit_pipeline(body, grid=(m // 128, n // 128, k // 128),
            in_specs=[pl.BlockSpec((128, 128), lambda i, j, k: (i, k)), pl.BlockSpec((128, 128), lambda i, j, k: (k, j))],
            out_specs=[pl.BlockSpec((128, 128), lambda i, j, k: (i, j))])(a_hbm, b_hbm, o_hbm)
    return matmul(a, b)

def make_args():
    r = np.random.default_rng(0)
    return r.standard_normal((128, 256)).astype(jnp.bfloat16), r.standard_normal((256, 128)).astype(jnp.bfloat16)
def reference(a, b): return a.astype(np.float32) @ b.astype(np.float32)
