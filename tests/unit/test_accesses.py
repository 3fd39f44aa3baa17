"""The access table, against tables worked out by hand."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from kernel_samples import (
    access,
    bf16,
    f32,
    facts_of,
    i32,
    line_of,
    loops,
    matmul,
    on_a_mesh,
    pipelined,
    table,
    the_kernel,
)

TILE = 8 * 128 * 4
ROW = 128 * 4


def kernel_of(body, *, scratch=(), n=1):
    """Facts of a kernel with `n` inputs x0, x1, … and one output, all f32[8,128] in VMEM."""
    call = pl.pallas_call(body, out_shape=f32(8, 128), scratch_shapes=list(scratch))
    return the_kernel(facts_of(call, {f"x{i}": f32(8, 128) for i in range(n)}, file_name=__file__))


def test_accumulating_matmul():
    kernel = the_kernel(facts_of(matmul, {"a": bf16(256, 512), "b": bf16(512, 128)}))
    size = 128 * 128
    assert table(kernel) == [
        ("store", "acc_ref", 1, True, 4 * size),
        ("load", "acc_ref", 1, False, 4 * size),
        ("load", "a_ref", 1, False, 2 * size),
        ("load", "b_ref", 1, False, 2 * size),
        ("accumulate", "acc_ref", 1, False, 4 * size),
        ("load", "acc_ref", 1, True, 4 * size),
        ("store", "o_ref", 1, True, 2 * size),
    ]
    k = kernel.kernel
    assert (k.loads, k.stores, k.accumulates, k.copies) == (4, 2, 1, 0)
    assert [a.line for a in k.accesses] == [
        line_of("matmul zero"), *[line_of("matmul dot")] * 4, *[line_of("matmul flush")] * 2
    ]  # fmt: skip


def test_nested_loops_multiply_and_data_makes_none():
    kernel = the_kernel(facts_of(loops, {"n": i32(1), "x": f32(8, 128)}))
    load, store = access(kernel, "loops inner"), access(kernel, "loops inner", "store")
    assert (load.per_step, load.shape, load.bytes_per_step) == (12, [128], 12 * ROW)
    assert (store.ref, store.per_step) == ("s_ref", 12)
    inside = access(kernel, "loops branch", "store")
    assert (inside.per_step, inside.branch, inside.shape, inside.bytes_per_step) == (3, True, [2, 128], 3 * 2 * ROW)
    data = [a for a in kernel.kernel.accesses if a.line == line_of("loops data")]
    assert [(a.kind, a.ref, a.per_step, a.bytes_per_step) for a in data] == [
        ("load", "o_ref", None, None),
        ("load", "s_ref", None, None),
        ("accumulate", "o_ref", None, None),
    ]
    k = kernel.kernel
    assert (k.loads, k.stores, k.accumulates, k.copies) == (None, 12 + 3, None, 0)


def test_the_largest_branch_counts():
    def body(x_ref, o_ref):
        def few():
            o_ref[...] = x_ref[...]

        def many():
            o_ref[0:4] = x_ref[0:4]
            o_ref[4:8] = x_ref[4:8] + x_ref[0:4]

        jax.lax.cond(x_ref[0, 0] > 0, many, few)

    k = kernel_of(body).kernel
    assert (k.loads, k.stores) == (1 + 3, 2)


def test_branches_are_compared_kind_by_kind():
    def body(x_ref, o_ref):
        def reads():
            o_ref[...] = x_ref[...] + x_ref[...] * o_ref[...]

        def writes():
            o_ref[0:4] = jnp.zeros((4, 128))
            o_ref[4:8] = jnp.zeros((4, 128))

        jax.lax.cond(x_ref[0, 0] > 0, reads, writes)

    k = kernel_of(body).kernel
    assert (k.loads, k.stores, k.accumulates) == (1 + 3, 2, 1)


def kinds(body, **options):
    return [(a.kind, a.ref) for a in kernel_of(body, **options).kernel.accesses if a.kind != "load"]


def plus_in_place(x_ref, o_ref):
    o_ref[...] += x_ref[...]


def whole_is_whole(x_ref, o_ref):
    o_ref[:, :] = o_ref[...] + x_ref[...]


def through_a_jit(x_ref, o_ref):
    o_ref[...] = jnp.where(x_ref[...] > 0, o_ref[...], 0.0)


def equal_dynamic_index(x_ref, o_ref):
    i = x_ref[0, 0].astype(jnp.int32)
    o_ref[i + 1, :] = o_ref[i + 1, :] * 2.0


def through_a_view(x_ref, o_ref):
    half = o_ref.at[pl.ds(0, 4)]
    half[...] = half[...] + 1.0


def kept_for_later(x_ref, o_ref):
    old = o_ref[...]
    total = jnp.sum(old * x_ref[...], axis=0)
    o_ref[...] = jnp.broadcast_to(total, (8, 128))


def added_by_update(x_ref, o_ref):
    jax.ref.addupdate(o_ref, (Ellipsis,), x_ref[...])


@pytest.mark.parametrize(
    "body", [plus_in_place, whole_is_whole, through_a_jit, equal_dynamic_index, through_a_view, kept_for_later,
             added_by_update],
)  # fmt: skip
def test_what_depends_on_the_same_place_accumulates(body):
    assert kinds(body) == [("accumulate", "o_ref")]


def another_ref(x_ref, o_ref):
    o_ref[...] = x_ref[...] + 1.0


def another_row(x_ref, o_ref):
    o_ref[0, :] = o_ref[1, :] + x_ref[0, :]


def another_dynamic_index(x_ref, o_ref):
    i = x_ref[0, 0].astype(jnp.int32)
    o_ref[i, :] = o_ref[i + 1, :]


def loaded_but_not_used(x_ref, o_ref):
    seen = o_ref[...]
    o_ref[...] = x_ref[...]
    x_ref[...] = seen


def in_another_body(x_ref, o_ref):
    old = o_ref[...]

    @pl.when(x_ref[0, 0] > 0)
    def _():
        o_ref[...] = old + 1.0


@pytest.mark.parametrize(
    "body", [another_ref, another_row, another_dynamic_index, loaded_but_not_used, in_another_body]
)
def test_what_does_not_is_a_store(body):
    assert kinds(body)[0] == ("store", "o_ref")
    assert "accumulate" not in [kind for kind, _ in kinds(body)]


def test_masked_loads_and_stores():
    def body(x_ref, o_ref):
        mask = jax.lax.broadcasted_iota(jnp.int32, (8, 128), 1) < 5
        x = pltpu.load(x_ref, mask=mask)
        pltpu.store(o_ref, x, mask=mask)
        pltpu.store(o_ref, pltpu.load(o_ref, mask=mask) + 1.0, mask=mask)

    assert [(a.kind, a.ref, a.bytes_per_step) for a in kernel_of(body).kernel.accesses] == [
        ("load", "x_ref", TILE),
        ("store", "o_ref", TILE),
        ("load", "o_ref", TILE),
        ("accumulate", "o_ref", TILE),
    ]


def test_scoped_refs_keep_their_names_and_a_repeated_name_is_numbered():
    def body(x_ref, o_ref):
        def first(buf):
            buf[...] = x_ref[...]
            pl.run_scoped(second, buf=pltpu.VMEM((4, 128), jnp.bfloat16))
            o_ref[...] = buf[...]

        def second(buf):
            buf[...] = x_ref[0:4].astype(jnp.bfloat16)

        pl.run_scoped(first, buf=pltpu.VMEM((8, 128), jnp.float32))

    kernel = kernel_of(body)
    assert [(a.kind, a.ref, a.bytes_per_step) for a in kernel.kernel.accesses] == [
        ("load", "x_ref", TILE),
        ("store", "buf", TILE),
        ("load", "x_ref", TILE // 2),
        ("store", "buf#2", TILE // 4),
        ("load", "buf", TILE),
        ("store", "o_ref", TILE),
    ]
    assert [(o.name, o.role, o.shape, o.dtype) for o in kernel.kernel.operands[2:]] == [
        ("buf", "scratch", [8, 128], "float32"),
        ("buf#2", "scratch", [4, 128], "bfloat16"),
    ]


class Mine(NamedTuple):
    window: object


def test_only_a_pipeline_has_windows():
    def body(x_ref, o_ref, mine):
        def inner(allocations):
            pltpu.sync_copy(x_ref, allocations[0])
            o_ref[...] = allocations[0][...] + mine.window[...]

        mine.window[...] = x_ref[...]
        pl.run_scoped(inner, [pltpu.VMEM((8, 128), jnp.float32)])

    found = kernel_of(body, scratch=[Mine(pltpu.VMEM((8, 128), jnp.float32))]).kernel.accesses
    loaded = [access.ref for access in found if access.kind == "load"]
    assert loaded == ["x_ref", "allocations[0]", "mine.window_"]


def test_refs_follow_into_a_function_that_is_called_twice():
    @jax.jit
    def double(ref):
        ref[...] = ref[...] * 2.0

    def body(x_ref, o_ref, s_ref):
        double(s_ref)
        double(o_ref)

    assert kinds(body, scratch=[pltpu.VMEM((8, 128), jnp.float32)]) == [
        ("accumulate", "s_ref"),
        ("accumulate", "o_ref"),
    ]


def test_copies_name_both_ends_and_semaphores_are_their_own_kind():
    def body(x_ref, o_ref, buf, sem, flag):
        copy = pltpu.make_async_copy(x_ref.at[pl.ds(0, 2)], buf.at[1], sem)
        copy.start()
        copy.wait()
        pl.semaphore_signal(flag, 1)
        pl.semaphore_wait(flag, 1)
        o_ref[0:2] = buf[1]

    scratch = [pltpu.VMEM((3, 2, 128), jnp.float32), pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.REGULAR]
    found = [(a.kind, a.ref, a.to, a.shape, a.bytes_per_step) for a in kernel_of(body, scratch=scratch).kernel.accesses]
    assert found[:4] == [
        ("copy_start", "x_ref", "buf", [2, 128], 2 * ROW),
        ("copy_wait", "x_ref", "buf", [2, 128], 2 * ROW),
        ("semaphore", "flag", None, [], 0),
        ("semaphore", "flag", None, [], 0),
    ]


def test_a_copy_whose_size_is_data():
    def body(n_ref, x_ref, o_ref, sem):
        size = n_ref[0]
        copy = pltpu.make_async_copy(x_ref.at[pl.ds(0, size)], o_ref.at[pl.ds(0, size)], sem)
        copy.start()
        copy.wait()

    anywhere = pl.BlockSpec(memory_space=pl.ANY)
    call = pl.pallas_call(
        body, in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), anywhere], out_specs=anywhere, out_shape=f32(8, 128),
        scratch_shapes=[pltpu.SemaphoreType.DMA],
    )  # fmt: skip
    kernel = the_kernel(facts_of(call, {"n": i32(1), "x": f32(8, 128)}, file_name=__file__))
    start = next(a for a in kernel.kernel.accesses if a.kind == "copy_start")
    assert (start.shape, start.per_step, start.bytes_per_step) == ([8, 128], 1, None)
    assert (kernel.kernel.copies, kernel.kernel.bytes_in, kernel.kernel.bytes_out) == (1, None, None)


def test_bytes_follow_the_dtype_of_the_view():
    def body(x_ref, o_ref):
        o_ref[...] = x_ref.bitcast(jnp.int32)[...].astype(jnp.float32)
        o_ref[0:1] = x_ref.at[3:5].bitcast(jnp.bfloat16)[0:1, :].astype(jnp.float32)

    loads = [(a.shape, a.dtype, a.bytes_per_step) for a in kernel_of(body).kernel.accesses if a.kind == "load"]
    assert loads == [([8, 128], "int32", TILE), ([1, 128], "bfloat16", 256)]


def test_emit_pipeline_is_read_through():
    kernel = the_kernel(facts_of(pipelined, {"x": f32(32, 128)}))
    load, store = access(kernel, "pipeline body"), access(kernel, "pipeline body", "store")
    assert (load.ref, load.per_step, load.bytes_per_step) == ("x_hbm.window", 4, 4 * TILE)
    assert (store.ref, store.per_step) == ("o_hbm.window", 4)
    starts = [(a.ref, a.to, a.per_step, a.branch) for a in kernel.kernel.accesses if a.kind == "copy_start"]
    assert starts == [
        ("x_hbm", "x_hbm.window", 1, False),
        ("x_hbm", "x_hbm.window", 4, True),
        ("o_hbm.window", "o_hbm", 4, True),
    ]
    assert {a.line for a in kernel.kernel.accesses} == {line_of("pipeline body"), line_of("pipeline call")}


def test_pl_kernel():
    kernel = the_kernel(facts_of(on_a_mesh, {"x": f32(8, 128)}))
    assert kernel.kernel.primitive == "mpmd_map"
    assert [(a.kind, a.ref, a.to) for a in kernel.kernel.accesses] == [
        ("copy_start", "x_hbm", "v"),
        ("copy_wait", "x_hbm", "v"),
        ("load", "v", None),
        ("accumulate", "v", None),
        ("copy_start", "v", "o_hbm"),
        ("copy_wait", "v", "o_hbm"),
    ]
