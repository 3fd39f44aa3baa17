# A pipeline in a kernel under shard_map, over a mesh of two axes: each device asks for its chip inside.
# Expected: PASS
import jax, jax.numpy as jnp, numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.sharding import PartitionSpec as P

def kernel(x_hbm, o_hbm):
    def body(x_ref, o_ref): o_ref[...] = x_ref[...] * 2
    spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
    pltpu.emit_pipeline(body, grid=(2,), in_specs=[spec], out_specs=[spec])(x_hbm, o_hbm)

def run(x):
    mesh = jax.make_mesh((2, 2), ("a", "b"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
    def local(x):
        anywhere = pl.BlockSpec(memory_space=pl.ANY)
        doubled = pl.pallas_call(kernel, in_specs=[anywhere], out_specs=anywhere, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
        return lax.psum(doubled, "b")
    return jax.shard_map(local, mesh=mesh, in_specs=P("a", "b"), out_specs=P("a", None), check_vma=False)(x)

def make_args(): return (np.random.default_rng(0).standard_normal((32, 256)).astype(np.float32),)
def reference(x): return 2 * (x[:, :128] + x[:, 128:])
