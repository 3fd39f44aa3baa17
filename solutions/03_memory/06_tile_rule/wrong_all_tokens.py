# expect: structure KT315
# Takes everything as one block: whole axes are always legal, and do not always fit.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, s_ref, o_ref):
    o_ref[...] = (x_ref[...].astype(jnp.float32) * s_ref[...]).astype(o_ref.dtype)


def head_scale(x, s):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, s)
