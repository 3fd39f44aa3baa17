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
    "padding_before": [((64, 128), "float32")],
    "different_by_chip": [((256, 128), "float32")],
    "scale": [((8192, 8192), "bfloat16")],
    "matmul": [((8192, 8192), "bfloat16"), ((8192, 8192), "bfloat16")],
    "causal": [((1024, 128), "float32")],
    "looped": [((8, 128), "float32")],
    "manual_copies": [((64, 1024), "float32")],
    "ragged": [((4,), "int32"), ((32, 128), "float32")],
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


def padding_before(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[1:9]

    window = pl.BlockSpec((pl.Element(16, (1, 7)), pl.Element(128)), lambda i: (i * 8, 0))
    return pl.pallas_call(kernel, grid=(8,), in_specs=[window], out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
                          out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), name="padding_before")(x)  # fmt: skip


def gather(x, index):
    def kernel(x_ref, index_ref, o_ref):
        o_ref[...] = jnp.take_along_axis(x_ref[...], index_ref[...], axis=1)

    return pl.pallas_call(kernel, out_shape=same(x))(x, index)


def different_by_chip(x):
    height = pltpu.get_tpu_info().mxu_column_size
    return pl.pallas_call(
        double, grid=(256 // height,), in_specs=[rows(height)], out_specs=rows(height), out_shape=same(x)
    )(x)


def scale(x, *, bm, bn):
    m, n = x.shape
    block = pl.BlockSpec((bm, bn), lambda i, j: (i, j))
    return pl.pallas_call(double, grid=(m // bm, n // bn), in_specs=[block], out_specs=block, out_shape=same(x))(x)


def matmul(a, b, *, bm, bn, bk):
    (m, k), n = a.shape, b.shape[1]

    def kernel(a_ref, b_ref, o_ref, acc_ref):
        @pl.when(pl.program_id(2) == 0)
        def _():
            acc_ref[...] = jnp.zeros_like(acc_ref)

        acc_ref[...] += jnp.dot(a_ref[...], b_ref[...], preferred_element_type=jnp.float32)

        @pl.when(pl.program_id(2) == k // bk - 1)
        def _():
            o_ref[...] = acc_ref[...].astype(o_ref.dtype)

    return pl.pallas_call(
        kernel,
        grid=(m // bm, n // bn, k // bk),
        in_specs=[pl.BlockSpec((bm, bk), lambda i, j, k: (i, k)), pl.BlockSpec((bk, bn), lambda i, j, k: (k, j))],
        out_specs=pl.BlockSpec((bm, bn), lambda i, j, k: (i, j)),
        out_shape=jax.ShapeDtypeStruct((m, n), a.dtype),
        scratch_shapes=[pltpu.VMEM((bm, bn), jnp.float32)],
        compiler_params=pltpu.CompilerParams(vmem_limit_bytes=100 << 20),
    )(a, b)


def causal(x):
    """Only steps with j <= i do anything: 36 of 64."""

    def kernel(x_ref, o_ref, acc_ref):
        i, j = pl.program_id(0), pl.program_id(1)

        @pl.when(j == 0)
        def _():
            acc_ref[...] = jnp.zeros_like(acc_ref)

        @pl.when(j <= i)
        def _():
            acc_ref[...] += x_ref[...]

        o_ref[...] = acc_ref[...]

    return pl.pallas_call(
        kernel,
        grid=(8, 8),
        in_specs=[pl.BlockSpec((128, 128), lambda i, j: (jnp.minimum(i, j), 0))],
        out_specs=pl.BlockSpec((128, 128), lambda i, j: (i, 0)),
        out_shape=same(x),
        scratch_shapes=[pltpu.VMEM((128, 128), jnp.float32)],
    )(x)


def looped(x, *, trips):
    """No grid: a loop in the body."""

    def kernel(x_ref, o_ref):
        def body(_, value):
            return value * 1.5 + x_ref[...]

        o_ref[...] = jax.lax.fori_loop(0, trips, body, x_ref[...])

    return pl.pallas_call(kernel, out_shape=same(x))(x)


def manual_copies(x):
    """Eight copies in, by hand, one after the other."""

    def kernel(x_hbm, o_ref, buffer, sem):
        o_ref[...] = jnp.zeros_like(o_ref)

        def body(i, _):
            copy = pltpu.make_async_copy(x_hbm.at[pl.ds(pl.multiple_of(i * 8, 8), 8)], buffer, sem)
            copy.start()
            copy.wait()
            o_ref[...] += buffer[...]
            return 0

        jax.lax.fori_loop(0, 8, body, 0)

    return pl.pallas_call(
        kernel,
        in_specs=[ANY],
        out_shape=jax.ShapeDtypeStruct((8, 1024), x.dtype),
        scratch_shapes=[pltpu.VMEM((8, 1024), x.dtype), pltpu.SemaphoreType.DMA],
    )(x)


def ragged(counts, x):
    """As many rounds as the scalar-prefetch operand says."""

    def kernel(counts_ref, x_ref, o_ref):
        def body(_, value):
            return value * 1.5 + x_ref[...]

        o_ref[...] = jax.lax.fori_loop(0, counts_ref[pl.program_id(0)], body, x_ref[...])

    block = pl.BlockSpec((8, 128), lambda i, counts: (i, 0))
    spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(4,), in_specs=[block], out_specs=block)
    return pl.pallas_call(kernel, grid_spec=spec, out_shape=same(x))(counts, x)
