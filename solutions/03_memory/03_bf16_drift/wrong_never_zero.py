# expect: interpret KT202
# Believes that a scratch starts as zeros.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, o_ref, acc_ref):
    step = pl.program_id(0)

    acc_ref[...] += jnp.sum(x_ref[...].astype(jnp.float32), axis=0, keepdims=True)

    @pl.when(step == pl.num_programs(0) - 1)
    def _():
        o_ref[...] = acc_ref[...].astype(o_ref.dtype)


def chunked_sum(x, *, bk=128):
    k, n = x.shape
    return pl.pallas_call(
        kernel,
        grid=(k // bk,),
        in_specs=[pl.BlockSpec((bk, n), lambda step: (step, 0))],
        out_specs=pl.BlockSpec((1, n), lambda step: (0, 0)),
        out_shape=jax.ShapeDtypeStruct((1, n), jnp.bfloat16),
        scratch_shapes=[pltpu.VMEM((1, n), jnp.float32)],
    )(x)
