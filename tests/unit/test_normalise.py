"""Normalised kernels give in plain interpret mode what the TPU simulator gives for the kernel as written."""

from __future__ import annotations

import functools

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from tutor.jaxpr.compat import target
from tutor.jaxpr.normalise import CPU_ARTIFACT, TPU_ARTIFACT, leaves_out_prints
from tutor.jaxpr.rebind import Rebinding

SHAPE = (8, 128)
F32 = jnp.float32


def traced(function, *args):
    with target():
        return jax.make_jaxpr(function)(*args)


def run(rebinding, jaxpr, *args):
    with target():
        return [np.asarray(x) for x in jax.jit(rebinding.as_function(jaxpr))(*args)]


def exported(rebinding, jaxpr, platform, *args):
    with target():
        return jax.export.export(jax.jit(rebinding.as_function(jaxpr)), platforms=[platform])(*args)


# ---------------------------------------------------------------- program_id in nested bodies


def in_when(x_ref, o_ref):
    o_ref[...] = x_ref[...]

    @pl.when(pl.program_id(0) > 1)
    def _():
        o_ref[...] = x_ref[...] + pl.program_id(0).astype(F32)


def in_fori_loop(x_ref, o_ref):
    def body(i, total):
        return total + (pl.program_id(0) * 10 + pl.program_id(1) + i).astype(F32)

    o_ref[...] = x_ref[...] + lax.fori_loop(0, 3, body, 0.0)


def in_while(x_ref, o_ref):
    total = lax.while_loop(lambda t: t < pl.program_id(0) * 7, lambda t: t + 2 + pl.program_id(1), 0)
    o_ref[...] = x_ref[...] + total.astype(F32)


def in_jit(x_ref, o_ref):
    o_ref[...] = jax.jit(lambda v: v + pl.program_id(1).astype(F32))(x_ref[...])


def in_everything(x_ref, o_ref):
    """A `when` in a `fori_loop` in a `run_scoped`, with a jit at the bottom."""

    @functools.partial(pl.run_scoped, acc=pltpu.VMEM(SHAPE, F32))
    def _(acc):
        acc[...] = x_ref[...]

        def body(i, carry):
            @pl.when(i + pl.program_id(0) > 1)
            def _():
                acc[...] = acc[...] + jax.jit(lambda v: v * pl.program_id(1) + pl.program_id(0))(i).astype(F32)

            return carry

        lax.fori_loop(0, 3, body, 0)
        o_ref[...] = acc[...]


def in_both_branches(x_ref, o_ref):
    v = lax.cond(
        pl.program_id(0) == pl.program_id(1), lambda: pl.program_id(0) * 3, lambda: pl.program_id(1) - pl.program_id(0)
    )
    o_ref[...] = x_ref[...] + v.astype(F32)


def in_custom_jvp(x_ref, o_ref):
    @jax.custom_jvp
    def shift(v):
        return v + pl.program_id(0).astype(F32)

    shift.defjvp(lambda p, t: (shift(*p), t[0]))
    o_ref[...] = shift(x_ref[...])


def value_from_a_branch(x_ref, o_ref):
    """The branch returns the program id itself, so the variable that goes is an output of the body."""
    v = lax.cond(x_ref[0, 0] >= 0, lambda: pl.program_id(1), lambda: jnp.int32(-1))
    o_ref[...] = x_ref[...] + v.astype(F32)


KERNELS = [
    in_when, in_fori_loop, in_while, in_jit, in_everything, in_both_branches, in_custom_jvp, value_from_a_branch,
]  # fmt: skip
GRID = (3, 2)
X = np.arange(24 * 256, dtype=np.float32).reshape(24, 256) / 128


def on_grid(kernel, x):
    spec = pl.BlockSpec(SHAPE, lambda i, j: (i, j))
    return pl.pallas_call(
        kernel, grid=GRID, in_specs=[spec], out_specs=spec, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype)
    )(x)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_program_id_is_hoisted(kernel):
    jaxpr = traced(functools.partial(on_grid, kernel), X)
    (want,) = run(Rebinding(pltpu.InterpretParams()), jaxpr, X)
    (got,) = run(CPU_ARTIFACT, jaxpr, X)
    np.testing.assert_allclose(got, want, rtol=1e-6)
    exported(CPU_ARTIFACT, jaxpr, "cpu", X).serialize()


def test_interpret_mode_still_needs_it():
    """The twin: without the rewriting, a nested `program_id` is refused. If this fails, the rewriting can go."""
    jaxpr = traced(functools.partial(on_grid, in_when), X)
    with pytest.raises(NotImplementedError, match="program_id"):
        run(Rebinding(True), jaxpr, X)


def test_num_programs_of_a_dynamic_grid():
    def kernel(x_ref, o_ref):
        @pl.when(pl.program_id(0) == pl.num_programs(0) - 1)
        def _():
            o_ref[...] = x_ref[...] + pl.num_programs(0).astype(F32)

    def program(n, x):
        spec = pl.BlockSpec(SHAPE, lambda i: (0, 0))
        return pl.pallas_call(
            kernel, grid=(n,), in_specs=[spec], out_specs=spec, out_shape=jax.ShapeDtypeStruct(SHAPE, F32)
        )(x)

    jaxpr = traced(program, jnp.int32(3), X[:8, :128])
    (got,) = run(CPU_ARTIFACT, jaxpr, jnp.int32(3), X[:8, :128])
    np.testing.assert_allclose(got, X[:8, :128] + 3)


def test_a_kernel_that_needs_nothing_is_left_alone():
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] + pl.program_id(0).astype(F32)

    jaxpr = traced(functools.partial(on_grid, kernel), X)
    with target():
        after = jax.make_jaxpr(CPU_ARTIFACT.as_function(jaxpr))(X)
    assert str(after.eqns[0].params["jaxpr"]) == str(jaxpr.eqns[0].params["jaxpr"])


# ---------------------------------------------------------------- aliased refs in ANY and HBM

ANY = pl.BlockSpec(memory_space=pl.ANY)


def twice(x_hbm, o_hbm, buf):
    """Writes o, then reads x again: one buffer on a TPU."""
    pltpu.sync_copy(x_hbm, buf)
    buf[...] = buf[...] + 1
    pltpu.sync_copy(buf, o_hbm)
    pltpu.sync_copy(x_hbm, buf)
    buf[...] = buf[...] + 11
    pltpu.sync_copy(buf, o_hbm)


def in_a_loop(x_hbm, o_hbm, buf):
    """Both names of the buffer enter the same loop body."""

    def body(i, carry):
        pltpu.sync_copy(x_hbm, buf)
        buf[...] = buf[...] * 2 + 1
        pltpu.sync_copy(buf, o_hbm)
        return carry

    lax.fori_loop(0, 3, body, 0)


def in_a_branch(x_hbm, o_hbm, buf):
    """Only the input enters the second branch, both enter the first."""

    @pl.when(pl.num_programs(0) == 1)
    def _():
        pltpu.sync_copy(x_hbm, buf)
        buf[...] = buf[...] + 5
        pltpu.sync_copy(buf, o_hbm)

    @pl.when(pl.num_programs(0) == 1)
    def _():
        pltpu.sync_copy(x_hbm, buf)

    buf[...] = buf[...] * 3
    pltpu.sync_copy(buf, o_hbm)


def in_while_with_pieces(x_hbm, o_hbm, buf):
    """A running sum over rows, in place, through pieces of the buffer."""

    def body(i):
        pltpu.sync_copy(x_hbm.at[pl.ds(i - 1, 2)], buf.at[pl.ds(0, 2)])
        buf[1, :] = buf[0, :] + buf[1, :]
        pltpu.sync_copy(buf.at[pl.ds(1, 1)], o_hbm.at[pl.ds(i, 1)])
        return i + 1

    lax.while_loop(lambda i: i < 8, body, 1)


def only_written(x_hbm, o_hbm, buf):
    """The input is never used: what is not written keeps its value."""
    buf[...] = jnp.zeros(SHAPE, F32)
    pltpu.sync_copy(buf.at[pl.ds(0, 4)], o_hbm.at[pl.ds(0, 4)])


@pytest.mark.parametrize("kernel", [twice, in_a_loop, in_a_branch, in_while_with_pieces, only_written])
@pytest.mark.parametrize("space", [pl.ANY, pltpu.HBM])
def test_aliased_refs_are_one_buffer(kernel, space):
    spec = pl.BlockSpec(memory_space=space)

    def program(x):
        return pl.pallas_call(
            kernel, grid=(1,), in_specs=[spec], out_specs=spec, input_output_aliases={0: 0},
            scratch_shapes=[pltpu.VMEM(SHAPE, F32)], out_shape=jax.ShapeDtypeStruct(SHAPE, F32),
        )(x)  # fmt: skip

    x = X[:8, :128].copy()
    jaxpr = traced(program, x)
    (want,) = run(Rebinding(pltpu.InterpretParams()), jaxpr, x)
    (got,) = run(CPU_ARTIFACT, jaxpr, x)
    np.testing.assert_allclose(got, want, rtol=1e-6)
    exported(CPU_ARTIFACT, jaxpr, "cpu", x)


def test_only_aliased_off_chip_refs_are_merged():
    """Blocks in VMEM have two windows even when they alias: a read after the write still gives the old block."""

    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] + 1
        o_ref[...] = x_ref[...] + 1

    def program(x):
        return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(SHAPE, F32), input_output_aliases={0: 0})(x)

    x = X[:8, :128]
    (got,) = run(CPU_ARTIFACT, traced(program, x), x)
    np.testing.assert_allclose(got, x + 1)


def test_two_aliased_pairs_do_not_mix():
    def kernel(a, b, oa, ob, buf):
        pltpu.sync_copy(a, buf)
        pltpu.sync_copy(buf, ob)
        pltpu.sync_copy(b, buf)
        pltpu.sync_copy(buf, oa)

    def program(a, b):
        s = jax.ShapeDtypeStruct(SHAPE, F32)
        return pl.pallas_call(
            kernel, in_specs=[ANY, ANY], out_specs=[ANY, ANY], out_shape=[s, s], input_output_aliases={0: 0, 1: 1},
            scratch_shapes=[pltpu.VMEM(SHAPE, F32)],
        )(a, b)  # fmt: skip

    a, b = np.ones(SHAPE, np.float32), np.full(SHAPE, 2, np.float32)
    jaxpr = traced(program, a, b)
    want = run(Rebinding(pltpu.InterpretParams()), jaxpr, a, b)
    got = run(CPU_ARTIFACT, jaxpr, a, b)
    assert [x[0, 0] for x in got] == [x[0, 0] for x in want] == [1, 1]


# ---------------------------------------------------------------- prints


def prints_everywhere(x_ref, o_ref):
    pl.debug_print("top {}", pl.program_id(0))

    def body(i, carry):
        pl.debug_print("loop {}", i)

        @pl.when(i > 0)
        def _():
            jax.debug.print("branch {}", i)

        return carry + 1

    n = lax.fori_loop(0, 2, body, 0)

    @functools.partial(pl.run_scoped, v=pltpu.VMEM(SHAPE, F32))
    def _(v):
        v[...] = x_ref[...]
        pl.debug_print("scope")
        o_ref[...] = v[...] + n.astype(F32)


def test_prints_do_not_reach_an_artifact():
    jaxpr = traced(functools.partial(on_grid, prints_everywhere), X)
    assert leaves_out_prints(jaxpr)
    for rebinding, platform in ((CPU_ARTIFACT, "cpu"), (TPU_ARTIFACT, "tpu")):
        exported(rebinding, jaxpr, platform, X).serialize()
    (got,) = run(CPU_ARTIFACT, jaxpr, X)
    np.testing.assert_allclose(got, X + 2)


def test_prints_stay_in_the_simulator(capfd):
    jaxpr = traced(functools.partial(on_grid, prints_everywhere), X)
    run(Rebinding(pltpu.InterpretParams()), jaxpr, X)
    jax.effects_barrier()
    assert "loop 1" in capfd.readouterr().out


def test_an_export_with_prints_is_still_refused():
    """The twin of the test above."""
    jaxpr = traced(functools.partial(on_grid, prints_everywhere), X)
    with pytest.raises(NotImplementedError):
        exported(Rebinding(True), jaxpr, "cpu", X).serialize()


def test_a_kernel_without_prints_says_so():
    assert not leaves_out_prints(traced(functools.partial(on_grid, in_when), X))
