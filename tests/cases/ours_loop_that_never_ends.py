# The body of a while loop forgets to count.
# Expected: FAIL hang
# Says: KT360 condition loop never ends
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl

MAY_HANG = True

def kernel(x_ref, o_ref):
    @pl.when(pl.program_id(0) == 0)
    def _():
        body = lambda s: (s[0], s[1] + x_ref[pl.ds(s[0], 1), :])
        o_ref[...] = jnp.broadcast_to(jax.lax.while_loop(lambda s: s[0] < 8, body, (0, jnp.zeros((1, 128), jnp.float32)))[1], (8, 128))  # here

def run(x):
    block = pl.BlockSpec((8, 128), lambda i: (0, 0))
    return pl.pallas_call(kernel, grid=(1,), in_specs=[block], out_specs=block, out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype))(x)

def make_args(): return (np.ones((8, 128), np.float32),)
def reference(x): return np.broadcast_to(x.sum(0), (8, 128))
