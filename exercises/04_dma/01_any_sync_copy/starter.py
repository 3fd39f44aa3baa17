"""Copy before you read.

gather_pages(pages, table): pages is (P, 16, 128) float32, table is (k,) int32 with numbers below P.
The result is (k, 16, 128) float32: page table[i], times two, at place i.

`pages` is large and stays in HBM (pl.ANY). The kernel below reads it with [...]. Interpret mode gives
the right numbers, and yet no TPU can run this. Look at what `lower` says.
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(table_ref, pages_ref, o_ref):
    i = pl.program_id(0)
    # TODO 2: copy the page into a VMEM scratch with pltpu.sync_copy, and read the scratch.
    o_ref[...] = pages_ref[table_ref[i]] * 2


def gather_pages(pages, table):
    grid_spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,  # table comes first, in SMEM, before the grid starts
        grid=(table.shape[0],),
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],  # no block: nothing is fetched for us
        out_specs=pl.BlockSpec((None, 16, 128), lambda i, table_ref: (i, 0, 0)),
        scratch_shapes=[],  # TODO 1: room for one page
    )
    out_shape = jax.ShapeDtypeStruct((table.shape[0], 16, 128), jnp.float32)
    return pl.pallas_call(kernel, grid_spec=grid_spec, out_shape=out_shape)(table, pages)
