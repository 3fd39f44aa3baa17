"""Keep the running sum in float32.

matmul(a, b): a is (m, k) bfloat16, b is (k, n) bfloat16, the result is (m, n) bfloat16.
m, n and k are multiples of bm, bn and bk.

The kernel below is tiled as it should be, and it is nearly right: the first cases pass. But it keeps its
running sum in the output block, and that is bfloat16. Look at the error of the case with k = 4096.
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(a_ref, b_ref, o_ref):
    k = pl.program_id(2)

    # TODO 1: keep the running sum in a float32 scratch, not in o_ref.
    @pl.when(k == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    product = jnp.dot(a_ref[...], b_ref[...], preferred_element_type=jnp.float32)
    o_ref[...] += product.astype(o_ref.dtype)

    # TODO 2: store to o_ref once, when the sum is complete.


def matmul(a, b, *, bm=128, bn=128, bk=128):
    (m, k), n = a.shape, b.shape[1]
    return pl.pallas_call(
        kernel,
        grid=(m // bm, n // bn, k // bk),
        in_specs=[
            pl.BlockSpec((bm, bk), lambda i, j, k: (i, k)),
            pl.BlockSpec((bk, bn), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((bm, bn), lambda i, j, k: (i, j)),
        out_shape=jax.ShapeDtypeStruct((m, n), jnp.bfloat16),
        scratch_shapes=[],  # TODO 3: pltpu.VMEM(shape, dtype)
    )(a, b)
