# expect: interpret KT210
# Fills the scratch at the first step only, as if it were a cache of the whole table.

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(table_ref, pages_ref, o_ref, page_ref):
    i = pl.program_id(0)

    @pl.when(i == 0)
    def _():
        pltpu.sync_copy(pages_ref.at[table_ref[i]], page_ref)

    o_ref[...] = page_ref[...] * 2


def gather_pages(pages, table):
    grid_spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(table.shape[0],),
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=pl.BlockSpec((None, 16, 128), lambda i, table_ref: (i, 0, 0)),
        scratch_shapes=[pltpu.VMEM((16, 128), jnp.float32)],
    )
    out_shape = jax.ShapeDtypeStruct((table.shape[0], 16, 128), jnp.float32)
    return pl.pallas_call(kernel, grid_spec=grid_spec, out_shape=out_shape)(table, pages)
