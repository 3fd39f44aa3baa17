"""The rules on the grid: which block each step works on, and in which order."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from tests.unit.checking import BLOCK, alarms, call, codes, copy_kernel, only, rows, shape


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
