# expect: structure KT302
# Sums the chunks with jnp outside.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = jnp.sum(x_ref[...].astype(jnp.float32), axis=0, keepdims=True)


def chunked_sum(x, *, bk=128):
    k, n = x.shape
    chunks = pl.pallas_call(
        kernel,
        grid=(k // bk,),
        in_specs=[pl.BlockSpec((bk, n), lambda step: (step, 0))],
        out_specs=pl.BlockSpec((None, 1, n), lambda step: (step, 0, 0)),
        out_shape=jax.ShapeDtypeStruct((k // bk, 1, n), jnp.float32),
    )(x)
    return jnp.sum(chunks, axis=0).astype(jnp.bfloat16)
