"""Kernels for the compile tests, as an attempt has them. `ARGUMENTS` are shapes and dtypes by function."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

ARGUMENTS = {
    "right": [((256, 256), "bfloat16"), ((256, 256), "bfloat16")],
    "no_argument": [],
    "two_outputs": [((16, 128), "float32")],
    "two_kernels": [((32, 128), "float32")],
    "pipelined": [((64, 128), "float32")],
    "over_limit": [((256, 8192), "float32"), ((8192, 256), "float32")],
    "over_own_limit": [((32, 4096), "float32")],
    "scratch_over_chip": [((8, 1024), "float32")],
    "smem_scratch": [((8, 128), "float32")],
    "smem_prefetch": [((1 << 20,), "int32"), ((64, 128), "float32")],
    "lane_offset": [((1,), "int32"), ((8, 512), "float32")],
    "row_offset": [((1,), "int32"), ((64, 512), "bfloat16")],
    "copy_of_half_a_tile": [((8, 256), "float32")],
    "copy_from_row_3": [((64, 512), "bfloat16")],
    "every_second_lane": [((8, 256), "float32")],
    "int8_product": [((128, 128), "int8"), ((128, 128), "int8")],
    "int8_arithmetic": [((128, 128), "int8")],
    "float16_block": [((128, 128), "float16")],
    "core_parallel": [((32, 128), "float32")],
    "semaphores": [((8, 128), "float32")],
    "gather": [((64, 512), "float32"), ((64, 512), "int32")],
    "different_by_chip": [((256, 128), "float32")],
}


def same(x):
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2


def rows(n, width=128):
    return pl.BlockSpec((n, width), lambda i: (i, 0))


SMEM_AND_VMEM = [pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)]
ANY = pl.BlockSpec(memory_space=pl.ANY)


def right(a, b):
    def kernel(a_ref, b_ref, o_ref, acc_ref):
        @pl.when(pl.program_id(2) == 0)
        def _():
            acc_ref[...] = jnp.zeros_like(acc_ref)

        acc_ref[...] += jnp.dot(a_ref[...], b_ref[...], preferred_element_type=jnp.float32)
        o_ref[...] = acc_ref[...]

    return pl.pallas_call(
        kernel,
        grid=(2, 2, 2),
        in_specs=[
            pl.BlockSpec((128, 128), lambda i, j, k: (i, k)),
            pl.BlockSpec((128, 128), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((128, 128), lambda i, j, k: (i, j)),
        out_shape=jax.ShapeDtypeStruct((256, 256), jnp.float32),
        scratch_shapes=[pltpu.VMEM((128, 128), jnp.float32)],
    )(a, b)


def no_argument():
    def kernel(o_ref):
        o_ref[...] = jnp.ones((8, 128), jnp.float32)

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))()


def two_outputs(x):
    def kernel(x_ref, twice_ref, square_ref):
        twice_ref[...] = x_ref[...] * 2
        square_ref[...] = x_ref[...] * x_ref[...]

    return pl.pallas_call(kernel, out_shape=[same(x), same(x)])(x)


def two_kernels(x):
    y = pl.pallas_call(double, grid=(4,), in_specs=[rows(8)], out_specs=rows(8), out_shape=same(x), name="first")(x)
    return pl.pallas_call(double, grid=(2,), in_specs=[rows(16)], out_specs=rows(16), out_shape=same(x))(y)


def pipelined(x):
    def kernel(x_hbm, o_hbm):
        pltpu.emit_pipeline(double, grid=(4,), in_specs=[rows(16)], out_specs=[rows(16)])(x_hbm, o_hbm)

    return pl.pallas_call(kernel, in_specs=[ANY], out_specs=ANY, out_shape=same(x))(x)


def over_limit(a, b):
    def kernel(a_ref, b_ref, o_ref):
        o_ref[...] = a_ref[:, :128] + b_ref[:128, :]

    return pl.pallas_call(
        kernel,
        grid=(2, 2),
        in_specs=[pl.BlockSpec((128, 8192), lambda i, j: (i, 0)), pl.BlockSpec((8192, 128), lambda i, j: (0, j))],
        out_specs=pl.BlockSpec((128, 128), lambda i, j: (i, j)),
        out_shape=jax.ShapeDtypeStruct((256, 256), jnp.float32),
    )(a, b)


def over_own_limit(x):
    return pl.pallas_call(
        double,
        grid=(4,),
        in_specs=[rows(8, 4096)],
        out_specs=rows(8, 4096),
        out_shape=same(x),
        compiler_params=pltpu.CompilerParams(vmem_limit_bytes=256 * 1024),
    )(x)


def scratch_over_chip(x):
    def kernel(x_ref, o_ref, big):
        big[:8] = x_ref[...]
        o_ref[...] = big[:8]

    return pl.pallas_call(kernel, out_shape=same(x), scratch_shapes=[pltpu.VMEM((40960, 1024), jnp.float32)])(x)


def smem_scratch(x):
    def kernel(x_ref, o_ref, table):
        table[0] = 1
        o_ref[...] = x_ref[...] + table[0].astype(jnp.float32)

    return pl.pallas_call(kernel, out_shape=same(x), scratch_shapes=[pltpu.SMEM((1 << 20,), jnp.int32)])(x)


def smem_prefetch(table, x):
    def kernel(table_ref, x_ref, o_ref):
        o_ref[...] = x_ref[...] + table_ref[pl.program_id(0)].astype(jnp.float32)

    block = pl.BlockSpec((8, 128), lambda i, table: (i, 0))
    spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(8,), in_specs=[block], out_specs=block)
    return pl.pallas_call(kernel, grid_spec=spec, out_shape=same(x))(table, x)


def lane_offset(offset, x):
    def kernel(offset_ref, x_ref, o_ref):
        o_ref[...] = x_ref[:, pl.ds(offset_ref[0], 128)]

    shape = jax.ShapeDtypeStruct((8, 128), x.dtype)
    return pl.pallas_call(kernel, in_specs=SMEM_AND_VMEM, out_shape=shape)(offset, x)


def row_offset(offset, x):
    def kernel(offset_ref, x_ref, o_ref):
        @pl.when(offset_ref[0] >= 0)
        def _():
            o_ref[...] = x_ref[pl.ds(offset_ref[0], 16), :]

    shape = jax.ShapeDtypeStruct((16, 512), x.dtype)
    return pl.pallas_call(kernel, in_specs=SMEM_AND_VMEM, out_shape=shape)(offset, x)


def copy_of_half_a_tile(x):
    def kernel(x_hbm, o_ref):
        pltpu.sync_copy(x_hbm.at[:, pl.ds(64, 64)], o_ref)

    return pl.pallas_call(kernel, in_specs=[ANY], out_shape=jax.ShapeDtypeStruct((8, 64), x.dtype))(x)


def copy_from_row_3(x):
    def kernel(x_hbm, o_ref):
        pltpu.sync_copy(x_hbm.at[pl.ds(3, 8)], o_ref)

    return pl.pallas_call(kernel, in_specs=[ANY], out_shape=jax.ShapeDtypeStruct((8, 512), x.dtype))(x)


def every_second_lane(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[:, ::2]

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype))(x)


def int8_product(a, b):
    def kernel(a_ref, b_ref, o_ref):
        o_ref[...] = jnp.dot(a_ref[...], b_ref[...], preferred_element_type=jnp.int32)

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((128, 128), jnp.int32))(a, b)


def int8_arithmetic(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 3

    return pl.pallas_call(kernel, out_shape=same(x))(x)


def float16_block(x):
    return pl.pallas_call(double, out_shape=same(x))(x)


def core_parallel(x):
    return pl.pallas_call(
        double,
        grid=(4,),
        in_specs=[rows(8)],
        out_specs=rows(8),
        out_shape=same(x),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("core_parallel",)),
    )(x)


def semaphores(x):
    def kernel(x_hbm, o_ref, sems):
        pltpu.make_async_copy(x_hbm, o_ref, sems.at[0]).start()
        pltpu.make_async_copy(x_hbm, o_ref, sems.at[0]).wait()

    return pl.pallas_call(kernel, in_specs=[ANY], out_shape=same(x), scratch_shapes=[pltpu.SemaphoreType.DMA((5000,))])(
        x
    )


def gather(x, index):
    def kernel(x_ref, index_ref, o_ref):
        o_ref[...] = jnp.take_along_axis(x_ref[...], index_ref[...], axis=1)

    return pl.pallas_call(kernel, out_shape=same(x))(x, index)


def different_by_chip(x):
    height = pltpu.get_tpu_info().mxu_column_size
    return pl.pallas_call(
        double, grid=(256 // height,), in_specs=[rows(height)], out_specs=rows(height), out_shape=same(x)
    )(x)
