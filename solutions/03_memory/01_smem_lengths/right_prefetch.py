"""The lengths come as a scalar-prefetch operand, which is in SMEM, too; whole sequences at every step."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(lengths, x_ref, o_ref):
    left = lengths[pl.program_id(0)] - lax.broadcasted_iota(jnp.int32, x_ref.shape, 0)
    o_ref[...] = lax.select(left > 0, x_ref[...], jnp.zeros(x_ref.shape, jnp.float32))


@jax.jit
def mask_tail(x, lengths):
    count, t, d = x.shape
    sequence = pl.BlockSpec((pl.squeezed, t, d), lambda i, lengths: (i, 0, 0))
    return pl.pallas_call(
        body,
        out_shape=jax.ShapeDtypeStruct(x.shape, jnp.float32),
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1, grid=(count,), in_specs=[sequence], out_specs=sequence
        ),
    )(lengths, x)
