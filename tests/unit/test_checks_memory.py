"""The rules on Refs: what is written, what is read, and what may not be touched at all."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from tests.unit.checking import ANY, BLOCK, F32, alarms, call, codes, line_of, only, rows, shape


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

    found = only("KT337", run, np.array([0, 2], np.int32), shape(*BLOCK))
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
