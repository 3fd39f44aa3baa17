# A kernel and a psum on four devices; the argument is sharded by make_args.
# Expected: PASS
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from jax.sharding import NamedSharding, PartitionSpec as P

def mesh(): return jax.make_mesh((4,), ("d",))
def kernel(x_ref, o_ref): o_ref[...] = x_ref[...] * 2

def run(x):
    def local(x):
        return jax.lax.psum(pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x), "d")
    return jax.shard_map(local, mesh=mesh(), in_specs=P("d"), out_specs=P(), check_vma=False)(x)

def make_args():
    x = np.random.default_rng(0).standard_normal((32, 128), dtype=np.float32)
    return (jax.device_put(x, NamedSharding(mesh(), P("d"))),)
def reference(x): return (np.asarray(x) * 2).reshape(4, 8, 128).sum(0)
