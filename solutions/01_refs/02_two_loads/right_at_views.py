"""The loads go through views of the Refs, made before: a view is a place and costs nothing."""

import jax
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref, o_ref):
    places = [ref.at[...] for ref in (x_ref, y_ref)]
    first, second = (place[...] for place in places)
    o_ref.at[...][...] = first + second


def add(x, y):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, y)
