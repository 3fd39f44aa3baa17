# expect: structure KT352 only
# One branch for the CPU, where it is tried out, and another one for the TPU.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def on_cpu(block):
    return jnp.sum(block, axis=1, keepdims=True)


def on_tpu(block):
    return jnp.max(block, axis=1, keepdims=True)


def kernel(x_ref, o_ref):
    @pl.when(pl.program_id(1) == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    o_ref[...] += jax.lax.platform_dependent(x_ref[...], cpu=on_cpu, default=on_tpu)


def row_sums(x, *, bm=64, bk=128):
    m, k = x.shape
    return pl.pallas_call(
        kernel,
        grid=(m // bm, k // bk),
        in_specs=[pl.BlockSpec((bm, bk), lambda i, k: (i, k))],
        out_specs=pl.BlockSpec((bm, 1), lambda i, k: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((m, 1), x.dtype),
    )(x)
