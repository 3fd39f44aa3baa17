"""What moves between HBM and VMEM: counted from the grid, from tables, and from loops of copies."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from kernel_samples import (
    bf16,
    copies_sometimes,
    f32,
    facts_of,
    gather_pages,
    i32,
    loops,
    matmul,
    on_a_mesh,
    pipelined,
    ragged,
    the_kernel,
)


def test_tables_are_worked_out_through_a_little_arithmetic():
    def padded(lengths, x):
        def kernel(starts_ref, x_ref, o_ref):
            o_ref[...] = x_ref[...]

        starts = jnp.concatenate([jnp.zeros(1, jnp.int32), jnp.cumsum(lengths)[:-1]])
        spec = pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1, grid=(3,), in_specs=[pl.BlockSpec((8, 128), lambda i, s: (s[i], 0))],
            out_specs=pl.BlockSpec((8, 128), lambda i, s: (i, 0)),
        )  # fmt: skip
        return pl.pallas_call(kernel, grid_spec=spec, out_shape=f32(24, 128))(starts, x)

    inputs = {"lengths": i32(3), "x": f32(64, 128)}
    kernel = the_kernel(facts_of(padded, inputs, {"lengths": np.array([0, 2, 1], np.int32)}))
    assert kernel.kernel.operands[0].argument is None  # not the input itself
    assert kernel.kernel.bytes_in == 2 * 8 * 128 * 4  # starts 0, 0, 2


def test_copies_count_as_hbm_traffic():
    inputs = {"pages": f32(9, 16, 128), "table": i32(3)}
    k = the_kernel(facts_of(gather_pages, inputs, {"table": np.array([8, 0, 8], np.int32)})).kernel
    page = 16 * 128 * 4
    assert (k.copies, k.bytes_in, k.bytes_out) == (1, 3 * page, 3 * page)
    assert [(o.name, o.space, o.block_shape) for o in k.operands[:3]] == [
        ("table_ref", "smem", None),
        ("pages_ref", "any", None),
        ("o_ref", "vmem", [None, 16, 128]),
    ]


@pytest.mark.parametrize(
    ("function", "x", "copies", "bytes_in", "bytes_out"),
    [
        (copies_sometimes, f32(32, 128), 1, 4096, 4 * 4096),  # one copy in four steps, four blocks out
        (pipelined, f32(32, 128), 9, 4 * 4096, 4 * 4096),  # 1 + 4 + 4 if every branch were taken
        (on_a_mesh, f32(8, 128), 2, 4096, 4096),
        (ragged, f32(100, 128), 0, 100 * 512, 100 * 512),  # what hangs over the edge does not move
    ],
)
def test_traffic_of_the_whole_grid(function, x, copies, bytes_in, bytes_out):
    k = the_kernel(facts_of(function, {"x": x})).kernel
    assert (k.copies, k.bytes_in, k.bytes_out) == (copies, bytes_in, bytes_out)


def test_a_loop_of_copies_follows_the_table():
    def some(n, x):
        def kernel(n_ref, x_hbm, o_ref):
            o_ref[...] = jnp.zeros_like(o_ref)

            def add(i, _):
                def page(buf):
                    pltpu.sync_copy(x_hbm.at[pl.ds(8 * i, 8)], buf)
                    o_ref[...] += buf[...]

                pl.run_scoped(page, pltpu.VMEM((8, 128), jnp.float32))
                return 0

            jax.lax.fori_loop(0, n_ref[pl.program_id(0)], add, 0)

        spec = pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1, grid=(3,), in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
            out_specs=pl.BlockSpec((8, 128), lambda i, n: (i, 0)),
        )  # fmt: skip
        return pl.pallas_call(kernel, grid_spec=spec, out_shape=f32(24, 128))(n, x)

    inputs = {"n": i32(3), "x": f32(80, 128)}
    known = the_kernel(facts_of(some, inputs, {"n": np.array([4, 0, 3], np.int32)})).kernel
    assert (known.copies, known.bytes_in, known.bytes_out) == (None, 7 * 4096, 3 * 4096)
    assert the_kernel(facts_of(some, inputs)).kernel.bytes_in is None


@pytest.mark.parametrize(("lengths", "moved"), [((0, 8, 32), 5), ((32, 32, 32), 12), (None, None)])
def test_a_loop_of_copies_follows_lengths_in_smem(lengths, moved):
    def kernel(n_ref, x_hbm, o_ref, buf):
        i = pl.program_id(0)

        def add(j, total):
            pltpu.sync_copy(x_hbm.at[pl.ds(32 * i + 8 * j, 8)], buf)
            return total + buf[...]

        o_ref[...] = jax.lax.fori_loop(0, pl.cdiv(n_ref[i], 8), add, jnp.zeros((8, 128), jnp.float32))

    def some(n, x):
        return pl.pallas_call(
            kernel,
            grid=(3,),
            in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pl.ANY)],
            out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
            out_shape=f32(24, 128),
            scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32)],
        )(n, x)

    values = None if lengths is None else {"n": np.array(lengths, np.int32)}
    k = the_kernel(facts_of(some, {"n": i32(3), "x": f32(96, 128)}, values)).kernel
    assert k.bytes_in == (None if moved is None else moved * 4096 + 3 * 4)


def test_loops_whose_length_is_data_are_none_in_the_record_too():
    k = the_kernel(facts_of(loops, {"n": i32(1), "x": f32(8, 128)})).kernel
    assert (k.loads, k.stores, k.accumulates, k.copies) == (None, 15, None, 0)
    assert (k.bytes_in, k.bytes_out) == (4 + 4096, 4096)  # the SMEM block is fetched as well


def test_a_long_grid_has_laws_instead_of_a_list():
    kernel = the_kernel(facts_of(matmul, {"a": bf16(2560, 2560), "b": bf16(2560, 2560)}))
    assert kernel.steps == 8000 and kernel.walks == []
    assert {law.operand: (law.base, law.terms, law.output) for law in kernel.laws} == {
        "a_ref": ([0, 0], [[[1], [0], [0]], [[0], [0], [1]]], None),
        "b_ref": ([0, 0], [[[0], [0], [1]], [[0], [1], [0]]], None),
        "o_ref": ([0, 0], [[[1], [0], [0]], [[0], [1], [0]]], 0),
    }
    moved = {each.operand: (each.moves, each.least_moves) for each in kernel.staged}
    assert moved == {"a_ref": (8000, 400), "b_ref": (8000, 400), "o_ref": (400, 400)}
    block = 128 * 128 * 2
    assert [(each.bytes, each.least_bytes) for each in kernel.staged[:1]] == [(8000 * block, 400 * block)]
    assert kernel.kernel.bytes_in == 2 * 8000 * block
