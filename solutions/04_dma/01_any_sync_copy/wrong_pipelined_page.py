# expect: structure KT305 only
# Lets the index map look up the page: a good kernel, but pages is staged block by block, and nothing is copied by hand.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(table_ref, pages_ref, o_ref):
    o_ref[...] = pages_ref[...] * 2


def gather_pages(pages, table):
    grid_spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(table.shape[0],),
        in_specs=[pl.BlockSpec((None, 16, 128), lambda i, table_ref: (table_ref[i], 0, 0))],
        out_specs=pl.BlockSpec((None, 16, 128), lambda i, table_ref: (i, 0, 0)),
    )
    out_shape = jax.ShapeDtypeStruct((table.shape[0], 16, 128), jnp.float32)
    return pl.pallas_call(kernel, grid_spec=grid_spec, out_shape=out_shape)(table, pages)
