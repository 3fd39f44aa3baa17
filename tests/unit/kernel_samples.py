"""Kernels whose loads, stores, copies and bytes are worked out by hand in the tests, and helpers to read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from tutor.jaxpr.compat import target
from tutor.jaxpr.facts import case_facts
from tutor.protocol import Access, ArraySpec, CaseFacts, CaseSpec, KernelFacts

HERE = str(Path(__file__))
SOURCE = Path(__file__).read_text().splitlines()


def line_of(mark: str) -> int:
    """The line of this file that ends with the comment `# mark`."""
    (line,) = [i for i, text in enumerate(SOURCE, start=1) if text.endswith(f"# {mark}")]
    return line


def traced(function: Callable[..., Any], *shapes: jax.ShapeDtypeStruct) -> Any:
    """The jaxpr of `function`, traced as for a TPU, without starting a backend."""
    with target():
        return jax.make_jaxpr(function)(*shapes)


def f32(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def bf16(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.bfloat16)


def i32(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.int32)


def facts_of(
    function: Callable[..., Any],
    inputs: Mapping[str, jax.ShapeDtypeStruct],
    values: Mapping[str, np.ndarray] | None = None,
    file_name: str = HERE,
) -> CaseFacts:
    """The facts of `function` on inputs with these names."""
    specs = [ArraySpec(name, list(s.shape), str(s.dtype)) for name, s in inputs.items()]
    case = CaseSpec(name="case", inputs=specs, outputs=[], static={}, sizes={})
    return case_facts(traced(function, *inputs.values()), case, values, file_name)


def the_kernel(facts: CaseFacts) -> KernelFacts:
    (kernel,) = facts.kernels
    return kernel


def table(kernel: KernelFacts) -> list[tuple[str, str, int | None, bool, int | None]]:
    """The access table in short: kind, ref, times per step, in a branch, bytes per step."""
    return [(a.kind, a.ref, a.per_step, a.branch, a.bytes_per_step) for a in kernel.kernel.accesses]


def access(kernel: KernelFacts, mark: str, kind: str = "load") -> Access:
    """The only access of a kind on the marked line."""
    (found,) = [a for a in kernel.kernel.accesses if a.line == line_of(mark) and a.kind == kind]
    return found


# ---------------------------------------------------------------- kernels


def matmul(a: Any, b: Any) -> Any:
    """bf16 tiles of 128, f32 accumulator, k innermost."""

    def kernel(a_ref, b_ref, o_ref, acc_ref):
        k = pl.program_id(2)

        @pl.when(k == 0)
        def _():
            acc_ref[...] = jnp.zeros_like(acc_ref)  # matmul zero

        acc_ref[...] += jnp.dot(a_ref[...], b_ref[...], preferred_element_type=jnp.float32)  # matmul dot

        @pl.when(k == pl.num_programs(2) - 1)
        def _():
            o_ref[...] = acc_ref[...].astype(o_ref.dtype)  # matmul flush

    (m, k), n = a.shape, b.shape[1]
    return pl.pallas_call(  # matmul call
        kernel,
        grid=(m // 128, n // 128, k // 128),
        in_specs=[pl.BlockSpec((128, 128), lambda i, j, k: (i, k)), pl.BlockSpec((128, 128), lambda i, j, k: (k, j))],
        out_specs=pl.BlockSpec((128, 128), lambda i, j, k: (i, j)),
        out_shape=jax.ShapeDtypeStruct((m, n), a.dtype),
        scratch_shapes=[pltpu.VMEM((128, 128), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
    )(a, b)


def loops(n: Any, x: Any) -> Any:
    """Static loops 3 and 4 deep, a branch inside, and a loop whose length is data."""

    def kernel(n_ref, x_ref, o_ref, s_ref):
        def outer(i, _):
            def inner(j, _):
                s_ref[j, :] = x_ref[i, :]  # loops inner
                return 0

            lax.fori_loop(0, 4, inner, 0)

            @pl.when(i == 1)
            def _():
                o_ref[pl.ds(0, 2), :] = s_ref[0:2, :]  # loops branch

            return 0

        lax.fori_loop(0, 3, outer, 0)

        def more(i, _):
            o_ref[i, :] += s_ref[i, :]  # loops data
            return 0

        lax.fori_loop(0, n_ref[0], more, 0)

    smem = pl.BlockSpec(memory_space=pltpu.SMEM)
    scratch = [pltpu.VMEM((8, 128), jnp.float32)]
    return pl.pallas_call(kernel, in_specs=[smem, pl.BlockSpec()], out_shape=f32(8, 128), scratch_shapes=scratch)(n, x)


def gather_pages(pages: Any, table: Any) -> Any:
    """Page table[i] is copied from ANY into scratch and doubled."""

    def kernel(table_ref, pages_ref, o_ref, page_ref):
        i = pl.program_id(0)
        pltpu.sync_copy(pages_ref.at[table_ref[i]], page_ref)  # gather copy
        o_ref[...] = page_ref[...] * 2.0

    k = table.shape[0]
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(k,),
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=pl.BlockSpec((None, 16, 128), lambda i, t: (i, 0, 0)),
        scratch_shapes=[pltpu.VMEM((16, 128), jnp.float32)],
    )
    return pl.pallas_call(kernel, grid_spec=spec, out_shape=f32(k, 16, 128))(table, pages)


def block_sparse(rows: Any, cols: Any, blocks: Any, dense: Any) -> Any:
    """Block-COO times dense, accumulated in the output, which starts as an aliased array of zeros."""

    def kernel(rows_ref, cols_ref, block_ref, dense_ref, zeros_ref, o_ref):
        i = pl.program_id(0)
        first = jnp.logical_or(i == 0, rows_ref[i] != rows_ref[jnp.maximum(i - 1, 0)])

        @pl.when(first)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += jnp.dot(block_ref[...], dense_ref[...], preferred_element_type=jnp.float32)

    nnz, bm, bk = blocks.shape
    n = dense.shape[1]
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=2,
        grid=(nnz,),
        in_specs=[
            pl.BlockSpec((None, bm, bk), lambda i, r, c: (i, 0, 0)),
            pl.BlockSpec((bk, n), lambda i, r, c: (c[i], 0)),
            pl.BlockSpec((bm, n), lambda i, r, c: (r[i], 0)),
        ],
        out_specs=pl.BlockSpec((bm, n), lambda i, r, c: (r[i], 0)),
    )
    return pl.pallas_call(kernel, grid_spec=spec, out_shape=f32(256, n), input_output_aliases={4: 0})(
        rows.astype(jnp.int32).reshape(-1), cols, blocks, dense, jnp.zeros((256, n), jnp.float32)
    )


def pipelined(x: Any) -> Any:
    """`emit_pipeline` over four blocks of an array in ANY."""

    def kernel(x_hbm, o_hbm):
        def body(x_ref, o_ref):
            o_ref[...] = x_ref[...] * 2.0  # pipeline body

        spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
        pltpu.emit_pipeline(body, grid=(4,), in_specs=[spec], out_specs=[spec])(x_hbm, o_hbm)  # pipeline call

    anywhere = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(kernel, in_specs=[anywhere], out_specs=anywhere, out_shape=f32(32, 128))(x)


def on_a_mesh(x: Any) -> Any:
    """`pl.kernel`: copies in, doubles, copies out."""

    @pl.kernel(
        out_type=f32(8, 128),
        mesh=pltpu.TensorCoreMesh(axis_name="core", num_cores=1),
        scratch_types={"v": pltpu.VMEM((8, 128), jnp.float32)},
    )
    def double(x_hbm, o_hbm, v):
        pltpu.sync_copy(x_hbm, v)
        v[...] = v[...] * 2.0
        pltpu.sync_copy(v, o_hbm)

    return double(x)


def two_kernels(x: Any, y: Any) -> Any:
    """A row sum, and a kernel that reads its result transposed; arithmetic and layout changes between."""

    def total(x_ref, o_ref):
        o_ref[...] = jnp.sum(x_ref[...], axis=1, keepdims=True)

    def scale(s_ref, y_ref, o_ref):
        o_ref[...] = y_ref[...] * s_ref[...]

    sums = pl.pallas_call(total, out_shape=f32(8, 1), name="total")(x.astype(jnp.float32))
    shifted = sums + 1.0  # two add
    out = pl.pallas_call(scale, out_shape=f32(8, 128), name="scale")(shifted, y.reshape(8, 128))
    return out.T, sums


def copies_sometimes(x: Any) -> Any:
    """The table is copied in at the first of four steps only."""

    def kernel(x_hbm, o_ref, buf, sem):
        @pl.when(pl.program_id(0) == 0)
        def _():
            copy = pltpu.make_async_copy(x_hbm.at[pl.ds(0, 8)], buf, sem)
            copy.start()
            copy.wait()

        o_ref[...] = buf[...] + 1.0

    return pl.pallas_call(
        kernel,
        grid=(4,),
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
        out_shape=f32(32, 128),
        scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32), pltpu.SemaphoreType.DMA],
    )(x)


def ragged(x: Any) -> Any:
    """100 rows in blocks of 64: the last block hangs over the edge."""

    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2.0

    block = pl.BlockSpec((64, 128), lambda i: (i, 0))
    return pl.pallas_call(kernel, grid=(2,), in_specs=[block], out_specs=block, out_shape=f32(100, 128))(x)
