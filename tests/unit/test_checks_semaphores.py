"""The rules on semaphores: what is started is waited for, and the other way round."""

from __future__ import annotations

import functools
import inspect

import jax.numpy as jnp
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from tests.unit.checking import ANY, BLOCK, DMA, F32, alarms, call, only, rows, shape


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
