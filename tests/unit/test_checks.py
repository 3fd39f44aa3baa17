"""The general rules: mistakes that a clever or a confused person makes, and right kernels that look like them."""

from __future__ import annotations

import functools
import inspect
import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from tutor.jaxpr.checks import RULES, SOURCE_RULES, suspects
from tutor.jaxpr.compat import target

F32, BF16 = jnp.float32, jnp.bfloat16
BLOCK = (8, 128)
ANY = pl.BlockSpec(memory_space=pl.ANY)
DMA = pltpu.SemaphoreType.DMA


def shape(*dims, dtype=F32):
    return jax.ShapeDtypeStruct(dims, dtype)


def findings(function, *args, source=None, known=()):
    """`known` are the positions of arguments whose contents the rules may look at."""
    with target():
        jaxpr = jax.make_jaxpr(function)(*args)
    return suspects(jaxpr, {i: np.asarray(args[i]) for i in known}, __file__, source=source)


def codes(function, *args, **kwargs):
    return {f.code for f in findings(function, *args, **kwargs)}


def alarms(function, *args, **kwargs):
    """What is more than a note."""
    return {f.code for f in findings(function, *args, **kwargs) if f.severity != "note"}


def only(code, function, *args, **kwargs):
    """The one finding of that code."""
    (found,) = [f for f in findings(function, *args, **kwargs) if f.code == code]
    return found


def line_of(function, text):
    lines, start = inspect.getsourcelines(function)
    return next(start + i for i, line in enumerate(lines) if text in line)


def call(kernel, out=BLOCK, *, dtype=F32, **kwargs):
    return pl.pallas_call(kernel, out_shape=shape(*out, dtype=dtype), **kwargs)


def rows(index_map, block=BLOCK, **kwargs):
    return pl.BlockSpec(block, index_map, **kwargs)


def copy_kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]


# ---------------------------------------------------------------- the grid


def test_parallel_axis_shares_a_block():
    def run(x, semantics):
        def kernel(x_ref, o_ref):
            @pl.when(pl.program_id(1) == 0)
            def _():
                o_ref[...] = jnp.zeros_like(o_ref)

            o_ref[...] += x_ref[...]

        return call(
            kernel, (32, 128), grid=(4, 4), in_specs=[rows(lambda i, k: (i * 4 + k, 0))],
            out_specs=rows(lambda i, k: (i, 0)), compiler_params=pltpu.CompilerParams(dimension_semantics=semantics),
        )(x)  # fmt: skip

    x = shape(128, 128)
    found = only("KT325", functools.partial(run, semantics=("arbitrary", "parallel")), x)
    assert "axis 1" in found.message and "(0, 0)" in found.message and "(0, 1)" in found.message
    assert found.ref == "o_ref"
    assert not alarms(functools.partial(run, semantics=("parallel", "arbitrary")), x)


def test_a_parallel_axis_of_one_step_shares_nothing():
    def run(x):
        params = pltpu.CompilerParams(dimension_semantics=("parallel",))
        return call(copy_kernel, grid=(1,), out_specs=rows(lambda i: (0, 0)), compiler_params=params)(x)

    assert not alarms(run, shape(*BLOCK))


def revisiting(alias):
    def run(x):
        return call(
            copy_kernel, (16, 128), grid=(4,), in_specs=[rows(lambda i: (i % 2, 0))],
            out_specs=rows(lambda i: (i % 2, 0)), input_output_aliases={0: 0} if alias else {},
        )(x)  # fmt: skip

    return run


def test_block_is_visited_again():
    found = only("KT326", revisiting(alias=False), shape(16, 128))
    assert "Block (0, 0)" in found.message and "(0,)" in found.message and "(2,)" in found.message


def test_an_aliased_block_that_is_fetched_again_is_a_hazard_of_its_own():
    assert alarms(revisiting(alias=True), shape(16, 128)) == {"KT333"}


def test_floor_division_drops_the_tail_and_cdiv_does_not():
    def run(x, n):
        return call(copy_kernel, (40, 128), grid=(n,), in_specs=[rows(lambda i: (i, 0), (16, 128))],
                    out_specs=rows(lambda i: (i, 0), (16, 128)))(x)  # fmt: skip

    found = only("KT327", functools.partial(run, n=40 // 16), shape(40, 128))
    assert "1 of the 3 blocks" in found.message and "(2, 0)" in found.message
    assert not alarms(functools.partial(run, n=pl.cdiv(40, 16)), shape(40, 128))


def scatter(table, x, zeros=None, through=lambda t: t, after=lambda y: y):
    """Writes the blocks that the table names; `zeros` may be aliased onto the output."""

    def kernel(table_ref, x_ref, *refs):
        refs[-1][...] = x_ref[...] * 2

    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1, grid=(2,),
        in_specs=[rows(lambda i, t: (i, 0)), *([rows(lambda i, t: (t[i], 0))] if zeros is not None else [])],
        out_specs=rows(lambda i, t: (t[i], 0)),
    )  # fmt: skip
    args = (through(table), x, *([zeros] if zeros is not None else []))
    out = pl.pallas_call(
        kernel, grid_spec=spec, out_shape=shape(32, 128), input_output_aliases={2: 0} if zeros is not None else {}
    )(*args)
    return after(out)


TABLE = np.array([0, 2], np.int32)


def test_unvisited_blocks_of_a_table():
    found = only("KT327", scatter, TABLE, shape(16, 128), known=[0])
    assert "2 of the 4 blocks" in found.message and "(1, 0)" in found.message


def test_without_the_table_nothing_is_said():
    assert not codes(scatter, TABLE, shape(16, 128))


def test_the_table_is_followed_through_layout_changes_and_jit_but_not_arithmetic():
    def cast(t):
        return jax.jit(lambda t: t.reshape(2, 1).astype(jnp.int32).reshape(2))(t)

    args = TABLE.astype(np.int16), shape(16, 128)
    assert "KT327" in codes(functools.partial(scatter, through=cast), *args, known=[0])
    assert not codes(functools.partial(scatter, through=lambda t: cast(t) + 1), *args, known=[0])


def test_aliased_zeros_make_unvisited_blocks_right():
    assert not alarms(scatter, TABLE, shape(16, 128), shape(32, 128), known=[0])


def test_unvisited_blocks_that_are_cut_off_are_a_note():
    found = only("KT327", functools.partial(scatter, after=lambda y: y[:8]), TABLE, shape(16, 128), known=[0])
    assert found.severity == "note"
    whole = only("KT327", functools.partial(scatter, after=lambda y: (y * 2).T), TABLE, shape(16, 128), known=[0])
    assert whole.severity == "error"


def test_kernels_in_loops_and_branches_are_checked_too():
    def run(x):
        def short(x):
            return call(copy_kernel, (32, 128), grid=(3,), in_specs=[rows(lambda i: (i, 0))],
                        out_specs=rows(lambda i: (i, 0)))(x)  # fmt: skip

        return lax.fori_loop(0, 2, lambda i, c: lax.cond(i > 0, short, lambda c: c, c), x)

    assert "KT327" in codes(run, shape(32, 128))


@pytest.mark.parametrize(
    ("index_map", "hint"),
    [(lambda i: (i * 8, 0), "return 1 here"), (lambda i: (i + 1, 0), "Check"), (lambda i: (i - 1, 0), "Check")],
)
def test_block_out_of_range(index_map, hint):
    def run(x):
        return call(copy_kernel, (32, 128), grid=(4,), in_specs=[rows(index_map)], out_specs=rows(lambda i: (i, 0)))(x)

    found = only("KT328", run, shape(32, 128))
    assert found.ref == "x_ref" and hint in found.hint


def test_a_partial_last_block_is_in_range():
    def run(x):
        return call(copy_kernel, (36, 128), grid=(5,), in_specs=[rows(lambda i: (i, 0))],
                    out_specs=rows(lambda i: (i, 0)))(x)  # fmt: skip

    assert not alarms(run, shape(36, 128))


def test_element_blocks_count_elements():
    def run(x, last):
        spec = pl.BlockSpec((pl.Element(8), pl.Element(128)), lambda i: (i * last, 0))
        return call(copy_kernel, (16, 128), grid=(2,), in_specs=[spec], out_specs=rows(lambda i: (i, 0)))(x)

    assert not alarms(functools.partial(run, last=24), shape(32, 128))
    assert "KT328" in codes(functools.partial(run, last=32), shape(32, 128))


def aliased(read, write, uses_input=True, n=6):
    def run(x):
        def kernel(x_ref, o_ref):
            o_ref[...] = x_ref[...] + 1 if uses_input else jnp.zeros_like(o_ref)

        return call(kernel, (n * 8, 128), grid=(n,), in_specs=[rows(read)], out_specs=rows(write),
                    input_output_aliases={0: 0})(x)  # fmt: skip

    return run


@pytest.mark.parametrize(
    "read", [lambda i: (jnp.maximum(i - 1, 0), 0), lambda i: (jnp.maximum(i - 2, 0), 0), lambda i: (5 - i, 0)]
)
def test_aliased_block_is_read_after_it_was_written(read):
    found = only("KT333", aliased(read, lambda i: (i, 0)), shape(48, 128))
    assert found.ref == "x_ref" and found.line is not None


@pytest.mark.parametrize(
    "read", [lambda i: (i, 0), lambda i: (jnp.minimum(i + 1, 5), 0)], ids=["own block", "the next one"]
)
def test_aliased_block_that_is_read_first_is_right(read):
    assert not alarms(aliased(read, lambda i: (i, 0)), shape(48, 128))


def test_an_aliased_block_that_is_never_read_is_no_hazard():
    assert not alarms(aliased(lambda i: (0, 0), lambda i: (i, 0), uses_input=False), shape(48, 128))


def test_big_and_dynamic_grids_are_silent():
    def run(x, n):
        return call(copy_kernel, (32, 128), grid=(n,), in_specs=[rows(lambda i: (i * 8, 0))],
                    out_specs=rows(lambda i: (i, 0)))(x)  # fmt: skip

    assert not alarms(functools.partial(run, n=5000), shape(32, 128))
    assert not alarms(run, shape(32, 128), shape(dtype=jnp.int32))


# ---------------------------------------------------------------- refs


def in_place(n, first):
    """A running sum in an output block that stays; `first` decides when it is zeroed."""

    def run(x):
        def kernel(x_ref, o_ref):
            first(pl.program_id(0), o_ref)
            o_ref[...] += x_ref[...]

        return call(kernel, grid=(n,), in_specs=[rows(lambda i: (i, 0))], out_specs=rows(lambda i: (0, 0)))(x)

    return run


def zero_when(condition):
    def first(k, o_ref):
        @pl.when(condition(k))
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

    return first


@pytest.mark.parametrize("condition", [lambda k: k == 0, lambda k: k >= 0, lambda k: jnp.logical_not(k > 0)])
def test_zeroed_at_the_first_step_is_right(condition):
    assert not alarms(in_place(4, zero_when(condition)), shape(32, 128))


@pytest.mark.parametrize("first", [lambda k, o: None, zero_when(lambda k: k == 1), zero_when(lambda k: k < 0)])
def test_read_before_write(first):
    found = only("KT332", in_place(4, first), shape(32, 128))
    assert found.ref == "o_ref" and "(0,)" in found.message


def test_read_before_write_in_every_nesting():
    def kernel(x_ref, o_ref, acc):
        @functools.partial(pl.run_scoped, tmp=pltpu.VMEM(BLOCK, F32))
        def _(tmp):
            def body(i, carry):
                @pl.when(i == 0)
                def _():
                    acc[...] = jax.jit(lambda a, b: a + b)(acc[...], x_ref[...])

                tmp[...] = acc[...]
                return carry

            lax.fori_loop(0, 3, body, 0)
            o_ref[...] = tmp[...]

    def run(x):
        return call(kernel, scratch_shapes=[pltpu.VMEM(BLOCK, F32)])(x)

    found = only("KT332", run, shape(*BLOCK))
    assert found.ref == "acc"
    assert found.line == line_of(test_read_before_write_in_every_nesting, "(acc[...], x_ref[...])")


def test_integer_scratch_in_smem_is_read_before_write():
    def kernel(x_ref, o_ref, count):
        count[0] = count[0] + 1
        o_ref[...] = x_ref[...] * count[0].astype(F32)

    def run(x):
        return call(kernel, scratch_shapes=[pltpu.SMEM((1,), jnp.int32)])(x)

    assert "KT332" in codes(run, shape(*BLOCK))


@pytest.mark.parametrize(
    "pick",
    [
        lambda k, old: jnp.where(k == 0, 0.0, old),
        lambda k, old: lax.select(k == 0, jnp.zeros_like(old), old),
        lambda k, old: jnp.where(k == 0, jnp.zeros_like(old), old) * 2,
    ],
)
def test_a_first_read_that_a_where_throws_away_is_right(pick):
    def run(x):
        def kernel(x_ref, o_ref, acc):
            acc[...] = pick(pl.program_id(0), acc[...]) + x_ref[...]
            o_ref[...] = acc[...]

        return call(kernel, grid=(4,), in_specs=[rows(lambda i: (i, 0))], out_specs=rows(lambda i: (0, 0)),
                    scratch_shapes=[pltpu.VMEM(BLOCK, F32)])(x)  # fmt: skip

    assert not alarms(run, shape(32, 128))


def test_a_read_whose_condition_depends_on_data_is_silent():
    def run(flag, x):
        def kernel(flag_ref, x_ref, o_ref, acc):
            @pl.when(flag_ref[0] == 0)
            def _():
                acc[...] = x_ref[...]

            o_ref[...] = acc[...]

        return call(kernel, in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)],
                    scratch_shapes=[pltpu.VMEM(BLOCK, F32)])(flag, x)  # fmt: skip

    assert not alarms(run, shape(1, dtype=jnp.int32), shape(*BLOCK))


def test_output_is_never_stored():
    def nothing(x_ref, o_ref):
        pass

    def wrong_ref(x_ref, y_ref, o_ref):
        y_ref[...] = x_ref[...]

    assert alarms(lambda x: call(nothing)(x), shape(*BLOCK)) == {"KT330"}
    assert alarms(lambda x, y: call(wrong_ref)(x, y), shape(*BLOCK), shape(*BLOCK)) == {"KT330", "KT331"}


def flush(when):
    def run(x):
        def kernel(x_ref, o_ref, acc):
            @pl.when(pl.program_id(0) == 0)
            def _():
                acc[...] = jnp.zeros_like(acc)

            acc[...] += x_ref[...]

            @pl.when(when())
            def _():
                o_ref[...] = acc[...]

        return call(kernel, grid=(4,), in_specs=[rows(lambda i: (i, 0))], out_specs=rows(lambda i: (0, 0)),
                    scratch_shapes=[pltpu.VMEM(BLOCK, F32)])(x)  # fmt: skip

    return run


def test_a_flush_that_never_runs():
    found = only("KT330", flush(lambda: pl.program_id(0) == pl.num_programs(0)), shape(32, 128))
    assert "never runs" in found.message
    assert not alarms(flush(lambda: pl.program_id(0) == pl.num_programs(0) - 1), shape(32, 128))


def test_stores_in_every_nesting_count():
    def kernel(x_ref, a_ref, b_ref, c_ref, d_ref, e_ref):
        lax.fori_loop(0, 2, lambda i, c: (a_ref.__setitem__(..., x_ref[...]), c)[1], 0)

        @pl.when(x_ref[0, 0] > 0)
        def _():
            b_ref[...] = x_ref[...]

        def body(i):
            c_ref[...] = x_ref[...]
            return i + 1

        lax.while_loop(lambda i: i < x_ref[0, 0].astype(jnp.int32), body, 0)
        pltpu.sync_copy(x_ref, d_ref)
        e_ref[...] = x_ref[...]

    def run(x):
        return pl.pallas_call(kernel, out_shape=[shape(*BLOCK)] * 5)(x)

    assert "KT330" not in codes(run, shape(*BLOCK))


def test_aliased_off_chip_refs_may_be_written_through_either_name():
    def kernel(x_hbm, o_hbm, buf):
        buf[...] = jnp.zeros_like(buf)
        pltpu.sync_copy(buf, x_hbm)

    def run(x, alias):
        return call(kernel, in_specs=[ANY], out_specs=ANY, scratch_shapes=[pltpu.VMEM(BLOCK, F32)],
                    input_output_aliases={0: 0} if alias else {})(x)  # fmt: skip

    assert not alarms(functools.partial(run, alias=True), shape(*BLOCK))
    assert alarms(functools.partial(run, alias=False), shape(*BLOCK)) == {"KT330", "KT331"}


@pytest.mark.parametrize("space", [pl.ANY, pltpu.HBM])
def test_off_chip_ref_is_indexed(space):
    def read(x_hbm, o_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        def body(i, c):
            o_ref[...] += x_hbm[pl.ds(i * 8, 8), :]
            return c

        lax.fori_loop(0, 2, body, 0)

    def run(x):
        return call(read, grid=(1,), in_specs=[pl.BlockSpec(memory_space=space)], out_specs=rows(lambda i: (0, 0)))(x)

    found = only("KT336", run, shape(16, 128))
    assert found.ref == "x_hbm" and found.line == line_of(test_off_chip_ref_is_indexed, "x_hbm[pl.ds")


@pytest.mark.parametrize("steers", [True, False])
def test_prefetch_ref_is_written(steers: bool):
    """A mistake where an index map reads the table; else it is SMEM in which many a kernel keeps what it counts."""

    def run(table, x):
        def kernel(table_ref, x_ref, o_ref):
            table_ref[0] = table_ref[0] + 1
            o_ref[...] = x_ref[...]

        spec = pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1, grid=(1,), in_specs=[rows(lambda i, t: (t[i] if steers else 0, 0))],
            out_specs=rows(lambda i, t: (0, 0)),
        )  # fmt: skip
        return pl.pallas_call(kernel, grid_spec=spec, out_shape=shape(*BLOCK))(table, x)

    found = only("KT337", run, TABLE, shape(*BLOCK))
    assert found.severity == ("error" if steers else "note")


@pytest.mark.parametrize(
    ("index", "bad"),
    [
        (lambda x, i: x[50], True),
        (lambda x, i: x[39], False),
        (lambda x, i: x[i * 20], True),
        (lambda x, i: x[i * 13], False),
        (lambda x, i: x[pl.ds(i * 16, 16)][0], True),
        (lambda x, i: x[pl.ds(i * 12, 16)][0], False),
        (lambda x, i: x.at[pl.ds(8, 16)][20], True),
        (lambda x, i: x.at[pl.ds(8, 16)][15], False),
    ],
)
def test_index_out_of_range_in_a_short_loop(index, bad):
    def kernel(x_ref, o_ref):
        o_ref[...] = jnp.zeros_like(o_ref)

        def body(i, c):
            o_ref[0, :] = o_ref[0, :] + index(x_ref, i)
            return c

        lax.fori_loop(0, 3, body, 0)

    assert ("KT329" in codes(lambda x: call(kernel)(x), shape(40, 128))) is bad


def test_a_negative_index_counts_from_the_end_in_interpret_mode_only():
    def kernel(x_ref, o_ref):
        o_ref[...] = jnp.broadcast_to(x_ref[-1], o_ref.shape)

    found = only("KT329", lambda x: call(kernel)(x), shape(40, 128))
    assert "Write 39" in found.hint


def test_an_index_before_the_first_that_is_thrown_away_is_right():
    def run(table, x):
        def kernel(t_ref, x_ref, o_ref):
            i = pl.program_id(0)

            @pl.when((i == 0) | (t_ref[i] != t_ref[i - 1]))
            def _():
                o_ref[...] = jnp.zeros_like(o_ref)

            o_ref[...] += x_ref[...]

        spec = pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(4,),
            in_specs=[rows(lambda i, t: (i, 0))],
            out_specs=rows(lambda i, t: (t[i], 0)),
        )
        return pl.pallas_call(kernel, grid_spec=spec, out_shape=shape(16, 128))(table, x)

    assert not alarms(run, np.array([0, 0, 1, 1], np.int32), shape(32, 128), known=[0])


def test_an_index_that_a_condition_guards_is_right():
    def kernel(x_ref, o_ref):
        k = pl.program_id(0)
        o_ref[...] = jnp.zeros_like(o_ref)

        @pl.when(k < 5)
        def _():
            o_ref[0, :] = x_ref[k * 8]

    def run(x, n):
        return call(kernel, (n * 8, 128), grid=(n,), in_specs=[pl.BlockSpec((40, 128), lambda i: (0, 0))],
                    out_specs=rows(lambda i: (i, 0)))(x)  # fmt: skip

    assert not alarms(functools.partial(run, n=8), shape(40, 128))


def test_an_index_from_data_is_silent():
    def kernel(i_ref, x_ref, o_ref):
        o_ref[...] = jnp.broadcast_to(x_ref[i_ref[0]], o_ref.shape)

    def run(i, x):
        return call(kernel, in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)])(
            i, x
        )

    assert not alarms(run, shape(1, dtype=jnp.int32), shape(40, 128))


def test_copy_out_of_range():
    def kernel(x_hbm, o_ref):
        pltpu.sync_copy(x_hbm.at[pl.ds(pl.program_id(0) * 8, 8)], o_ref)

    def run(x, n):
        return call(kernel, (n * 8, 128), grid=(n,), in_specs=[ANY], out_specs=rows(lambda i: (i, 0)))(x)

    assert not alarms(functools.partial(run, n=4), shape(32, 128))
    assert alarms(functools.partial(run, n=5), shape(32, 128)) == {"KT329"}


def test_store_is_overwritten():
    def twice(x_ref, o_ref):
        o_ref[...] = x_ref[...]
        o_ref[...] = x_ref[...] * 2

    def read_between(x_ref, o_ref):
        o_ref[...] = x_ref[...]
        o_ref[...] = o_ref[...] * 2

    def other_rows(x_ref, o_ref):
        o_ref[0:4, :] = x_ref[0:4, :]
        o_ref[4:8, :] = x_ref[4:8, :] * 2

    def copied_between(x_ref, o_ref, buf):
        buf[...] = x_ref[...]
        pltpu.sync_copy(buf, o_ref)
        buf[...] = x_ref[...] + 1

    def conditional(x_ref, o_ref):
        o_ref[...] = x_ref[...]

        @pl.when(x_ref[0, 0] > 0)
        def _():
            o_ref[...] = x_ref[...] * 2

    x = shape(*BLOCK)
    found = only("KT341", lambda x: call(twice)(x), x)
    assert found.severity == "note" and found.line == line_of(test_store_is_overwritten, "o_ref[...] = x_ref[...]")
    for kernel in (read_between, other_rows, conditional):
        assert "KT341" not in codes(lambda x, k=kernel: call(k)(x), x), kernel.__name__
    assert "KT341" not in codes(lambda x: call(copied_between, scratch_shapes=[pltpu.VMEM(BLOCK, F32)])(x), x)


# ---------------------------------------------------------------- semaphores


def with_copies(kernel, sems=(), n=4):
    def run(x):
        return call(kernel, grid=(1,), in_specs=[ANY], out_specs=rows(lambda i: (0, 0)),
                    scratch_shapes=[pltpu.VMEM((2, *BLOCK), F32), DMA(sems) if sems else DMA])(x)  # fmt: skip

    return run, shape(n * 8, 128)


def double_buffered(x_hbm, o_ref, buf, sem):
    """Starts the next copy while the last one is used: the textbook loop."""

    def copy(i, slot):
        return pltpu.make_async_copy(x_hbm.at[pl.ds(i * 8, 8)], buf.at[slot], sem.at[slot])

    copy(0, 0).start()
    o_ref[...] = jnp.zeros_like(o_ref)

    def body(i, c):
        @pl.when(i + 1 < 4)
        def _():
            copy(i + 1, (i + 1) % 2).start()

        copy(i, i % 2).wait()
        o_ref[...] += buf[i % 2]
        return c

    lax.fori_loop(0, 4, body, 0)


def one_wait_for_two(x_hbm, o_ref, buf, sem):
    """Two copies of half the size, one wait for the whole: the semaphore counts bytes."""
    pltpu.make_async_copy(x_hbm.at[pl.ds(0, 4)], buf.at[0, pl.ds(0, 4)], sem).start()
    pltpu.make_async_copy(x_hbm.at[pl.ds(4, 4)], buf.at[0, pl.ds(4, 4)], sem).start()
    pltpu.make_async_copy(x_hbm.at[pl.ds(0, 8)], buf.at[0], sem).wait()
    o_ref[...] = buf[0]


def next_step_waits(x_hbm, o_ref, buf, sem):
    """What one grid step starts, the next one waits for."""
    i, n = pl.program_id(0), pl.num_programs(0)
    copy = pltpu.make_async_copy(x_hbm.at[pl.ds(0, 8)], buf.at[0], sem)
    pl.when(i == 0)(lambda: copy.start())
    copy.wait()
    o_ref[...] = buf[0]
    pl.when(i < n - 1)(lambda: copy.start())


@pytest.mark.parametrize("sems", [(2,), ()])
def test_right_use_of_semaphores(sems):
    run, x = with_copies(double_buffered if sems else one_wait_for_two, sems)
    assert not alarms(run, x)


def test_double_buffering_with_an_unknown_trip_count_is_silent():
    def kernel(n_ref, x_hbm, o_ref, buf, sem):
        def copy(i, slot):
            return pltpu.make_async_copy(x_hbm.at[pl.ds(i * 8, 8)], buf.at[slot], sem.at[slot])

        n = n_ref[0]
        copy(0, 0).start()
        o_ref[...] = jnp.zeros_like(o_ref)

        def body(i, c):
            pl.when(i + 1 < n)(lambda: copy(i + 1, (i + 1) % 2).start())
            copy(i, i % 2).wait()
            o_ref[...] += buf[i % 2]
            return c

        lax.fori_loop(0, n, body, 0)

    def run(n, x):
        return call(kernel, in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), ANY],
                    scratch_shapes=[pltpu.VMEM((2, *BLOCK), F32), DMA((2,))])(n, x)  # fmt: skip

    assert not alarms(run, shape(1, dtype=jnp.int32), shape(64, 128))


def test_copies_across_grid_steps():
    def run(x, kernel=next_step_waits):
        return call(kernel, (32, 128), grid=(4,), in_specs=[ANY], out_specs=rows(lambda i: (i, 0)),
                    scratch_shapes=[pltpu.VMEM((2, *BLOCK), F32), DMA])(x)  # fmt: skip

    def one_too_many(x_hbm, o_ref, buf, sem):
        copy = pltpu.make_async_copy(x_hbm.at[pl.ds(0, 8)], buf.at[0], sem)
        pl.when(pl.program_id(0) == 0)(lambda: copy.start())
        copy.wait()
        o_ref[...] = buf[0]
        copy.start()

    def one_too_few(x_hbm, o_ref, buf, sem):
        copy = pltpu.make_async_copy(x_hbm.at[pl.ds(0, 8)], buf.at[0], sem)
        pl.when(pl.program_id(0) == 0)(lambda: copy.start())
        copy.wait()
        o_ref[...] = buf[0]

    assert not alarms(run, shape(32, 128))
    assert alarms(functools.partial(run, kernel=one_too_many), shape(32, 128)) == {"KT324"}
    found = only("KT322", functools.partial(run, kernel=one_too_few), shape(32, 128))
    assert "grid step (1,)" in found.message and "hangs" in found.message


def wait_without_start(x_hbm, o_ref, buf, sem):
    pltpu.make_async_copy(x_hbm.at[pl.ds(0, 8)], buf.at[0], sem.at[0]).wait()
    o_ref[...] = buf[0]


def wait_on_another(x_hbm, o_ref, buf, sem):
    pltpu.make_async_copy(x_hbm.at[pl.ds(0, 8)], buf.at[0], sem.at[0]).start()
    pltpu.make_async_copy(x_hbm.at[pl.ds(0, 8)], buf.at[0], sem.at[1]).wait()
    o_ref[...] = buf[0]


def wait_twice(x_hbm, o_ref, buf, sem):
    copy = pltpu.make_async_copy(x_hbm.at[pl.ds(0, 8)], buf.at[0], sem.at[0])
    copy.start()
    copy.wait()
    lax.fori_loop(0, 2, lambda i, c: (copy.wait(), c)[1], 0)
    o_ref[...] = buf[0]


def start_in_a_branch_that_never_runs(x_hbm, o_ref, buf, sem):
    copy = pltpu.make_async_copy(x_hbm.at[pl.ds(0, 8)], buf.at[0], sem.at[0])
    pl.when(pl.program_id(0) == 1)(lambda: copy.start())
    copy.wait()
    o_ref[...] = buf[0]


def slots_are_swapped(x_hbm, o_ref, buf, sem):
    """Waits for the slot that has just not been started."""

    def body(i, c):
        pltpu.make_async_copy(x_hbm.at[pl.ds(i * 8, 8)], buf.at[i % 2], sem.at[i % 2]).start()
        pltpu.make_async_copy(x_hbm.at[pl.ds(i * 8, 8)], buf.at[i % 2], sem.at[(i + 1) % 2]).wait()
        return c

    lax.fori_loop(0, 2, body, 0)
    o_ref[...] = buf[0]


@pytest.mark.parametrize(
    "kernel",
    [wait_without_start, wait_on_another, wait_twice, start_in_a_branch_that_never_runs, slots_are_swapped],
)
def test_a_wait_that_hangs(kernel):
    run, x = with_copies(kernel, (2,))
    found = only("KT322", run, x)
    assert found.severity == "error" and found.ref == "sem"
    source, start = inspect.getsourcelines(kernel)
    assert start <= found.line < start + len(source)


def never_waited(x_hbm, o_ref, buf, sem):
    pltpu.make_async_copy(x_hbm.at[pl.ds(0, 8)], buf.at[0], sem.at[1]).start()
    o_ref[...] = buf[0]


def one_of_two_never_waited(x_hbm, o_ref, buf, sem):
    first = pltpu.make_async_copy(x_hbm.at[pl.ds(0, 8)], buf.at[0], sem.at[0])
    second = pltpu.make_async_copy(x_hbm.at[pl.ds(8, 8)], buf.at[1], sem.at[1])
    first.start()
    second.start()
    first.wait()
    o_ref[...] = buf[0] + buf[1]


def test_a_copy_that_nobody_waits_for():
    for kernel in (never_waited, one_of_two_never_waited):
        run, x = with_copies(kernel, (2,))
        found = only("KT323", run, x)
        assert "sem[1]" in found.message


def test_a_smaller_wait_leaves_the_rest():
    def kernel(x_hbm, o_ref, buf, sem):
        pltpu.make_async_copy(x_hbm.at[pl.ds(0, 8)], buf.at[0], sem.at[0]).start()
        pltpu.make_async_copy(x_hbm.at[pl.ds(0, 4)], buf.at[0, pl.ds(0, 4)], sem.at[0]).wait()
        o_ref[...] = buf[0]

    run, x = with_copies(kernel, (2,))
    assert "2048 bytes" in only("KT324", run, x).message


def test_signals_that_are_not_waited_for():
    def kernel(x_ref, o_ref, sem):
        pl.semaphore_signal(sem, 2)
        pl.semaphore_wait(sem, 1)
        o_ref[...] = x_ref[...]

    def balanced(x_ref, o_ref, sem):
        pl.semaphore_signal(sem, 2)
        pl.semaphore_wait(sem, 1)
        pl.semaphore_wait(sem, 1)
        o_ref[...] = x_ref[...]

    def run(x, kernel):
        return call(kernel, scratch_shapes=[pltpu.SemaphoreType.REGULAR])(x)

    assert alarms(functools.partial(run, kernel=kernel), shape(*BLOCK)) == {"KT324"}
    assert not alarms(functools.partial(run, kernel=balanced), shape(*BLOCK))


def test_a_semaphore_index_from_data_is_silent():
    def kernel(i_ref, x_hbm, o_ref, buf, sem):
        copy = pltpu.make_async_copy(x_hbm.at[pl.ds(0, 8)], buf.at[0], sem.at[i_ref[0]])
        copy.start()
        pltpu.make_async_copy(x_hbm.at[pl.ds(0, 8)], buf.at[0], sem.at[i_ref[1]]).wait()
        o_ref[...] = buf[0]

    def run(i, x):
        return call(kernel, in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), ANY],
                    scratch_shapes=[pltpu.VMEM((2, *BLOCK), F32), DMA((2,))])(i, x)  # fmt: skip

    assert not alarms(run, shape(2, dtype=jnp.int32), shape(8, 128))


def test_scoped_semaphores():
    def kernel(x_hbm, o_ref):
        @functools.partial(pl.run_scoped, buf=pltpu.VMEM(BLOCK, F32), done=DMA)
        def _(buf, done):
            pltpu.make_async_copy(x_hbm, buf, done).start()
            o_ref[...] = buf[...]

    found = only("KT323", lambda x: call(kernel, in_specs=[ANY])(x), shape(*BLOCK))
    assert found.ref == "done"


def test_pl_kernel_bodies_are_checked():
    def run(x, waits):
        mesh = pltpu.TensorCoreMesh(axis_name="core", num_cores=1)

        @pl.kernel(out_type=shape(*BLOCK), mesh=mesh, scratch_types={"v": pltpu.VMEM(BLOCK, F32), "sem": DMA})
        def k(x_hbm, o_hbm, v, sem):
            copy = pltpu.make_async_copy(x_hbm, v, sem)
            copy.start()
            if waits:
                copy.wait()
            pltpu.sync_copy(v, o_hbm)

        return k(x)

    assert alarms(functools.partial(run, waits=False), shape(*BLOCK)) == {"KT323"}
    assert not alarms(functools.partial(run, waits=True), shape(*BLOCK))


# ---------------------------------------------------------------- numbers


def accumulate(dtype, *, n=4, update=lambda old, x: old + x, block=lambda k: (0, 0)):
    def run(x):
        def kernel(x_ref, o_ref, acc):
            @pl.when(pl.program_id(0) == 0)
            def _():
                acc[...] = jnp.zeros_like(acc)

            acc[...] = update(acc[...], x_ref[...]).astype(dtype)
            o_ref[...] = acc[...].astype(F32)

        return call(kernel, grid=(n,), in_specs=[rows(lambda i: (i, 0))], out_specs=rows(block),
                    scratch_shapes=[pltpu.VMEM(BLOCK, dtype)])(x)  # fmt: skip

    return run, shape(n * 8, 128)


def test_running_sum_is_narrow():
    for update in (lambda old, x: old + x, lambda old, x: (old.astype(F32) * 0.5 + x) * 2, lambda old, x: x - old):
        run, x = accumulate(BF16, update=update)
        found = only("KT334", run, x)
        assert found.severity == "warning" and found.ref == "acc"


def test_what_is_no_running_sum_in_bf16():
    assert not alarms(*accumulate(F32))
    assert not alarms(*accumulate(BF16, update=lambda old, x: jnp.maximum(old.astype(F32), x)))
    assert not alarms(*accumulate(BF16, n=1))
    assert not alarms(*accumulate(BF16, update=lambda old, x: x))

    def residual(x_ref, o_ref):
        o_ref[...] = x_ref[...]
        o_ref[...] += x_ref[...]

    def run(x):
        return call(residual, (32, 128), dtype=BF16, grid=(4,), in_specs=[rows(lambda i: (i, 0))],
                    out_specs=rows(lambda i: (i, 0)))(x)  # fmt: skip

    assert not alarms(run, shape(32, 128, dtype=BF16))


def test_running_sum_in_a_bf16_output_and_in_a_loop():
    def output(x_ref, o_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += x_ref[...]

    def loop(x_ref, o_ref):
        o_ref[...] = jnp.zeros_like(o_ref)

        def body(i, c):
            o_ref[...] += x_ref[pl.ds(i * 8, 8), :]
            return c

        lax.fori_loop(0, 4, body, 0)

    x = shape(32, 128, dtype=BF16)
    assert "KT334" in codes(
        lambda x: call(output, dtype=BF16, grid=(4,), in_specs=[rows(lambda i: (i, 0))],
                       out_specs=rows(lambda i: (0, 0)))(x), x)  # fmt: skip
    assert "KT334" in codes(lambda x: call(loop, dtype=BF16)(x), x)


@pytest.mark.parametrize(
    ("dtype", "result", "code"),
    [(BF16, BF16, "KT335"), (jnp.int8, jnp.int8, "KT335"), (BF16, F32, None), (jnp.int8, jnp.int32, None),
     (F32, F32, "KT340")],
)  # fmt: skip
def test_products(dtype, result, code):
    def kernel(a_ref, b_ref, o_ref):
        o_ref[...] = jnp.dot(a_ref[...], b_ref[...], preferred_element_type=result).astype(F32)

    a = shape(128, 128, dtype=dtype)
    assert codes(lambda a, b: call(kernel, (128, 128))(a, b), a, a) == ({code} if code else set())


def test_a_product_at_highest_precision_needs_no_note():
    def kernel(a_ref, b_ref, o_ref):
        o_ref[...] = jnp.dot(a_ref[...], b_ref[...], precision=lax.Precision.HIGHEST)

    a = shape(128, 128)
    assert not codes(lambda a, b: call(kernel, (128, 128))(a, b), a, a)


def padded(kernel, n=200, m=8):
    def run(a):
        return call(kernel, (8, 128), grid=(2,), in_specs=[pl.BlockSpec((8, 128), lambda k: (0, k))],
                    out_specs=rows(lambda k: (0, 0)))(a)  # fmt: skip

    return run, shape(m, n)


def test_partial_block_is_summed():
    def summed(a_ref, o_ref):
        o_ref[...] = jnp.broadcast_to(jnp.sum(a_ref[...] * 2, axis=1, keepdims=True), o_ref.shape)

    def other_axis(a_ref, o_ref):
        o_ref[...] = jnp.broadcast_to(jnp.sum(a_ref[...], axis=0, keepdims=True), o_ref.shape)

    def masked(a_ref, o_ref):
        column = pl.program_id(0) * 128 + lax.broadcasted_iota(jnp.int32, (8, 128), 1)
        v = jnp.where(column < 200, a_ref[...], 0)
        o_ref[...] = jnp.broadcast_to(jnp.sum(v, axis=1, keepdims=True), o_ref.shape)

    found = only("KT339", *padded(summed))
    assert found.severity == "note" and "72" in found.message and "56" in found.message
    assert "Dimension 1 of" in only("KT339", *padded(summed, m=12)).message  # the other one is ragged too
    assert "KT339" not in codes(*padded(summed, n=256))
    assert "KT339" not in codes(*padded(other_axis))
    assert "KT339" not in codes(*padded(masked))


# ---------------------------------------------------------------- promises and hints


def test_a_false_promise():
    def run(table, x):
        def kernel(table_ref, x_ref, o_ref):
            o_ref[...] = x_ref[:, pl.ds(pl.multiple_of(table_ref[pl.program_id(0)], 128), 128)]

        spec = pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1, grid=(2,), in_specs=[rows(lambda i, s: (0, 0), (8, 512))],
            out_specs=rows(lambda i, s: (i, 0)),
        )  # fmt: skip
        return pl.pallas_call(kernel, grid_spec=spec, out_shape=shape(16, 128))(table, x)

    bad, good = np.array([128, 100], np.int32), np.array([128, 256], np.int32)
    found = only("KT321", run, bad, shape(8, 512), known=[0])
    assert "100" in found.message and "(1,)" in found.message
    assert not alarms(run, good, shape(8, 512), known=[0])
    assert not alarms(run, bad, shape(8, 512))


def test_a_promise_about_a_loop_counter():
    def kernel(x_ref, o_ref):
        o_ref[...] = jnp.zeros_like(o_ref)

        def body(i, c):
            o_ref[...] += x_ref[:, pl.ds(pl.multiple_of(i * 64, 128), 128)]
            return c

        lax.fori_loop(0, 3, body, 0)

    assert "KT321" in codes(lambda x: call(kernel)(x), shape(8, 512))


def test_interpret_program_id_and_small_blocks_are_notes():
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]

        @pl.when(x_ref[0, 0] > 0)
        def _():
            o_ref[...] = x_ref[...] + pl.program_id(0).astype(BF16)

    def run(x):
        return call(kernel, (32, 128), dtype=BF16, grid=(4,), in_specs=[rows(lambda i: (i, 0))],
                    out_specs=rows(lambda i: (i, 0)), interpret=True)(x)  # fmt: skip

    x = shape(32, 128, dtype=BF16)
    assert codes(run, x) == {"KT320", "KT338", "KT343"}
    assert not alarms(run, x)


def test_host_callbacks():
    def run(x):
        y = jax.pure_callback(lambda v: np.sin(v), shape(*BLOCK), x)
        jax.debug.print("{}", y[0, 0])
        return call(copy_kernel)(y)

    found = only("KT342", run, shape(*BLOCK))
    assert found.line == line_of(test_host_callbacks, "pure_callback")
    assert "KT342" not in codes(lambda x: (jax.debug.print("{}", x[0, 0]), call(copy_kernel)(x))[1], shape(*BLOCK))


# ---------------------------------------------------------------- the source

REBOUND = """
def kernel(x_ref, o_ref):
    y = x_ref[...] + 1
    {store}
"""


def from_source(text, args, name="attempt.py", **kwargs):
    space = {"jnp": jnp, "pl": pl, "jax": jax, "lax": lax, "pltpu": pltpu}
    exec(compile(text, name, "exec"), space)
    with target():
        jaxpr = jax.make_jaxpr(lambda *a: call(space["kernel"], **kwargs)(*a))(*args)
    return suspects(jaxpr, {}, name, source=text)


def test_a_ref_name_is_rebound():
    found = from_source(REBOUND.format(store="o_ref = y"), [shape(*BLOCK)])
    (rebound,) = [f for f in found if f.code == "KT344"]
    assert (rebound.line, rebound.column, rebound.ref) == (4, 4, "o_ref")
    assert not from_source(REBOUND.format(store="o_ref[...] = y"), [shape(*BLOCK)])


def test_rebinding_inside_when_and_of_inputs():
    inner = "@pl.when(pl.program_id(0) == 0)\n    def _():\n        o_ref = y"
    found = from_source(REBOUND.format(store=inner), [shape(*BLOCK)], grid=(1,))
    assert {f.code for f in found} >= {"KT344", "KT330"}
    fine = "x_ref = y\n    o_ref[...] = x_ref"
    assert not [f for f in from_source(REBOUND.format(store=fine), [shape(*BLOCK)]) if f.severity != "note"]


def test_a_read_that_is_never_used():
    found = from_source(REBOUND.format(store="o_ref[...] = x_ref[...] * 2"), [shape(*BLOCK)])
    assert [(f.code, f.line, f.ref, f.severity) for f in found] == [("KT345", 3, "x_ref", "note")]


def test_lines_are_those_of_the_attempt_only():
    """A helper in another file writes; the finding points at the attempt's line that called it."""
    helper = {"pl": pl}
    exec(compile("def take(ref):\n\n\n    return ref[50]", "helper.py", "exec"), helper)
    space = {"take": helper["take"], "jnp": jnp}
    text = "def kernel(x_ref, o_ref):\n    o_ref[...] = jnp.broadcast_to(take(x_ref), o_ref.shape)"
    exec(compile(text, "attempt.py", "exec"), space)
    with target():
        jaxpr = jax.make_jaxpr(lambda x: call(space["kernel"])(x))(shape(40, 128))
    (found,) = suspects(jaxpr, {}, "attempt.py")
    assert (found.code, found.line) == ("KT329", 2)


@pytest.mark.parametrize("source", ["def (", "\0", "", "x = 1", "# \udcff"])
def test_a_source_that_does_not_parse_says_nothing(source):
    assert not findings(lambda x: call(copy_kernel)(x), shape(*BLOCK), source=source)


def test_text_of_the_learner_is_data():
    text = REBOUND.format(store="o_ref[...] = y").replace("x_ref", "x")
    assert not from_source(text, [shape(*BLOCK)])


# ---------------------------------------------------------------- all of it


def test_right_kernels_of_many_kinds_raise_nothing():
    def pipelined(x_hbm, o_hbm):
        def body(x_ref, o_ref):
            o_ref[...] = x_ref[...] * 2

        spec = rows(lambda i: (i, 0))
        pltpu.emit_pipeline(body, grid=(4,), in_specs=[spec], out_specs=[spec])(x_hbm, o_hbm)

    def softmax(x_ref, o_ref):
        v = x_ref[...]
        e = jnp.exp(v - jnp.max(v, axis=1, keepdims=True))
        o_ref[...] = jax.nn.silu(e / jnp.sum(e, axis=1, keepdims=True))

    def swapped(x_ref, o_ref, acc):
        acc[...] = x_ref[...]
        o_ref[...] = acc[...]

    x = shape(32, 128)
    assert not codes(lambda x: call(pipelined, (32, 128), in_specs=[ANY], out_specs=ANY)(x), x)
    assert not codes(lambda x: call(softmax, (32, 128))(x), x)
    assert not codes(lambda x: call(swapped, (32, 128), scratch_shapes=[pltpu.VMEM((32, 128), F32)])(x), x)


def test_every_rule_has_words_for_the_learner():
    for rule in (*RULES, *SOURCE_RULES):
        assert rule.__doc__ and rule.__doc__.startswith("KT3"), rule.__name__


def test_no_backend_is_started():
    program = """
    import jax, jax.numpy as jnp, numpy as np
    from jax.experimental import pallas as pl
    from tutor.jaxpr.checks import suspects
    from tutor.jaxpr.compat import backends_started, target
    def kernel(x_ref, o_ref):
        @pl.when(pl.program_id(0) == 1)
        def _(): o_ref[...] = jnp.zeros_like(o_ref)
        o_ref[...] += x_ref[...]
    spec = pl.BlockSpec((8, 128), lambda i: (i // 2, 0))
    shape = jax.ShapeDtypeStruct((32, 128), np.float32)
    with target():
        call = pl.pallas_call(kernel, grid=(8,), in_specs=[spec], out_specs=spec, out_shape=shape)
        jaxpr = jax.make_jaxpr(call)(shape)
    assert [f.code for f in suspects(jaxpr, {}, "<string>")] == ["KT332"]
    assert not backends_started()
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, env={"JAX_PLATFORMS": "cpu"})
