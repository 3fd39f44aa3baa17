"""Groups of 16 heads where they divide, all heads where not; one token after the other inside a step."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

TOKENS, HEADS = 8, 16


def body(x_ref, s_ref, o_ref):
    scale = s_ref[...]

    @pl.loop(0, TOKENS)
    def _(token):
        o_ref[token] = (x_ref[token].astype(jnp.float32) * scale).astype(jnp.bfloat16)


def head_scale(x, s):
    t, h, d = x.shape
    heads = HEADS if h % HEADS == 0 else h
    block = pl.BlockSpec(block_shape=(TOKENS, heads, d), index_map=lambda group, i: (i, group, 0))
    return pl.pallas_call(
        body,
        out_shape=x,
        grid=(h // heads, t // TOKENS),
        in_specs=[block, pl.BlockSpec((heads, 1), lambda group, i: (group, 0))],
        out_specs=block,
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel")),
    )(x, s)
