"""The copy spelled out: a descriptor, a semaphore of its own, start and wait. The table is a plain operand in SMEM."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(pages_ref, table_ref, o_ref, page_ref, arrived):
    wanted = table_ref[pl.program_id(0)]
    copy = pltpu.make_async_copy(pages_ref.at[pl.ds(wanted, 1)], page_ref, arrived)
    copy.start()
    copy.wait()
    page = page_ref[...]
    o_ref[...] = page + page


@jax.jit
def gather_pages(pages, table):
    (count,) = table.shape
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((count,) + pages.shape[1:], pages.dtype),
        grid=(count,),
        in_specs=[pl.BlockSpec(memory_space=pl.ANY), pl.BlockSpec(memory_space=pltpu.SMEM)],
        out_specs=pl.BlockSpec((1, 16, 128), lambda i: (i, 0, 0)),
        scratch_shapes=[pltpu.VMEM((1, 16, 128), pages.dtype), pltpu.SemaphoreType.DMA],
    )(pages, table)
