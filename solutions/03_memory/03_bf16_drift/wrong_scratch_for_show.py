# expect: structure KT306 only
# Has the scratch that is asked for, and adds up in a float32 output that nobody gets.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, o_ref, sum_ref, acc_ref):
    step = pl.program_id(0)
    acc_ref[...] = jnp.zeros_like(acc_ref)

    @pl.when(step == 0)
    def _():
        sum_ref[...] = jnp.zeros_like(sum_ref)

    sum_ref[...] += jnp.sum(x_ref[...].astype(jnp.float32), axis=0, keepdims=True) + acc_ref[0, 0]

    @pl.when(step == pl.num_programs(0) - 1)
    def _():
        o_ref[...] = sum_ref[...].astype(o_ref.dtype)


def chunked_sum(x, *, bk=128):
    k, n = x.shape
    row = pl.BlockSpec((1, n), lambda step: (0, 0))
    total, _ = pl.pallas_call(
        kernel,
        grid=(k // bk,),
        in_specs=[pl.BlockSpec((bk, n), lambda step: (step, 0))],
        out_specs=[row, row],
        out_shape=[jax.ShapeDtypeStruct((1, n), jnp.bfloat16), jax.ShapeDtypeStruct((1, n), jnp.float32)],
        scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32)],
    )(x)
    return total
