# A remote copy to the right neighbour, after a barrier: interpret mode has none, the simulator has.
# Expected: PASS
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from jax.sharding import PartitionSpec as P
N = 4

def kernel(x_ref, o_ref, send, recv):
    me = jax.lax.axis_index("d")
    right, left = jax.lax.rem(me + 1, N), jax.lax.rem(me + N - 1, N)
    barrier = pltpu.get_barrier_semaphore()
    for other in (left, right):
        pl.semaphore_signal(barrier, 1, device_id=(other,))
    pl.semaphore_wait(barrier, 2)
    copy = pltpu.make_async_remote_copy(x_ref, o_ref, send, recv, device_id=(right,))
    copy.start()
    copy.wait()

def run(x):
    mesh = jax.make_mesh((N,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
    anywhere = pl.BlockSpec(memory_space=pl.ANY)
    def local(x):
        return pl.pallas_call(kernel, in_specs=[anywhere], out_specs=anywhere, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
            scratch_shapes=[pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.DMA], compiler_params=pltpu.CompilerParams(collective_id=0))(x)
    return jax.shard_map(local, mesh=mesh, in_specs=P("d"), out_specs=P("d"), check_vma=False)(x)

def make_args(): return (np.arange(N * 8 * 128, dtype=np.float32).reshape(N * 8, 128),)
def reference(x): return np.roll(x, 8, axis=0)
