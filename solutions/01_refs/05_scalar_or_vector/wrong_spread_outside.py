# expect: structure KT305 only
# Spreads s and t to the shape of x outside: three arrays cross to the chip instead of one.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, s_ref, t_ref, o_ref):
    o_ref[...] = x_ref[...] * s_ref[...] + t_ref[...]


def scale_shift(x, s, t):
    everywhere = [jnp.broadcast_to(number, x.shape) for number in (s, t)]
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, *everywhere)
