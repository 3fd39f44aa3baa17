"""The static table, proved: kernels are run by an evaluator that counts, and both must agree."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from counting import Tally, run_program
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from kernel_samples import (
    block_sparse,
    copies_sometimes,
    f32,
    facts_of,
    gather_pages,
    loops,
    matmul,
    pipelined,
    ragged,
    the_kernel,
    traced,
)

from tutor.jaxpr.kernels import kernel_parts
from tutor.jaxpr.nest import read_kernel
from tutor.protocol import Kernel, KernelFacts

KINDS = {
    "loads": ("get",),
    "stores": ("swap", "addupdate"),
    "copies": ("dma_start",),
}


def replayed(function: Any, **inputs: np.ndarray) -> tuple[list[np.ndarray], Tally, Kernel]:
    """Run the only kernel of `function` and count; the facts of the same kernel."""
    shapes = {name: jax.ShapeDtypeStruct(a.shape, a.dtype) for name, a in inputs.items()}
    outs, ((eqn, tally),) = run_program(traced(function, *shapes.values()), list(inputs.values()))
    integers = {n: a for n, a in inputs.items() if a.dtype.kind in "iu"}
    facts = the_kernel(facts_of(function, shapes, integers))
    each_access(eqn, tally)
    each_operand(facts, tally)
    return outs, tally, facts.kernel


def each_operand(facts: KernelFacts, tally: Tally) -> None:
    """The pipeline moved as many blocks and bytes for each operand as the facts say; for others it moved none."""
    operands = [o.name for o in facts.kernel.operands if o.role in ("input", "output")]
    said = {each.operand: (each.moves, each.bytes) for each in facts.staged}
    ran = dict(zip(operands, tally.staged, strict=False))
    assert said.keys() <= ran.keys()
    assert {name: moved for name, moved in ran.items() if moved != (0, 0)} == said


def each_access(eqn: Any, tally: Tally) -> None:
    """Every equation that touches memory ran as often as the table says; inside a branch at most that often."""
    (parts,) = kernel_parts(eqn)
    level = read_kernel(parts.jaxpr, parts.names, "")
    allowed: dict[int, int | None] = {}
    exact: dict[int, bool] = {}
    for node in level.walk():
        if node.touch and node.touch.kind != "semaphore":  # a jaxpr that is called twice stands here twice
            before = allowed.get(id(node.eqn), 0)
            allowed[id(node.eqn)] = None if before is None or node.times is None else before + node.times
            exact[id(node.eqn)] = not node.branch
    assert set(tally.runs) <= set(allowed)
    for key, times in allowed.items():
        ran = tally.runs[key]
        if times is not None:
            assert ran == times * len(tally.steps) if exact[key] else ran <= times * len(tally.steps)


def agree(tally: Tally, kernel: Kernel) -> None:
    """The sums of one step are what the fullest step did, and the bytes are what moved."""
    assert kernel.loads == tally.most("get")
    assert kernel.stores is not None and kernel.accumulates is not None
    assert kernel.stores + kernel.accumulates >= tally.most("swap", "addupdate")
    assert kernel.copies is not None and kernel.copies >= tally.most("dma_start")
    assert (kernel.bytes_in, kernel.bytes_out) == (tally.bytes_in, tally.bytes_out)


RNG = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def test_matmul():
    a, b = floats(256, 384), floats(384, 128)
    (out,), tally, kernel = replayed(matmul, a=a.astype(jnp.bfloat16), b=b.astype(jnp.bfloat16))
    np.testing.assert_allclose(out.astype(np.float32), a @ b, atol=0.5)
    assert (kernel.bytes_in, kernel.bytes_out) == (tally.bytes_in, tally.bytes_out)
    # no step both zeroes and flushes, so the fullest step loads 4 times and stores once besides accumulating
    assert (tally.most("get"), tally.most("swap")) == (4, 2)
    assert (kernel.loads, kernel.stores, kernel.accumulates) == (4, 2, 1)


def test_gather_pages():
    pages, table = floats(5, 16, 128), np.array([4, 0, 4, 2], np.int32)
    (out,), tally, kernel = replayed(gather_pages, pages=pages, table=table)
    np.testing.assert_array_equal(out, 2 * pages[table])
    agree(tally, kernel)


def test_block_sparse():
    rows, cols = np.array([0, 0, 3, 7], np.int32), np.array([1, 0, 0, 0], np.int32)
    blocks, dense = floats(4, 32, 64), floats(128, 128)
    (out,), tally, kernel = replayed(block_sparse, rows=rows, cols=cols, blocks=blocks, dense=dense)
    want = np.zeros((256, 128), np.float32)
    for r, c, block in zip(rows, cols, blocks, strict=True):
        want[32 * r : 32 * r + 32] += block @ dense[64 * c : 64 * c + 64]
    np.testing.assert_allclose(out, want, rtol=1e-4, atol=1e-3)
    agree(tally, kernel)


@pytest.mark.parametrize(("function", "rows"), [(pipelined, 32), (copies_sometimes, 32), (ragged, 100)])
def test_one_input(function, rows):
    x = floats(rows, 128)
    (out,), tally, kernel = replayed(function, x=x)
    want = np.tile(x[:8] + 1, (4, 1)) if function is copies_sometimes else 2 * x
    np.testing.assert_array_equal(out, want)
    agree(tally, kernel)


def test_loops():
    _, tally, kernel = replayed(loops, n=np.array([5], np.int32), x=floats(8, 128))
    assert (kernel.loads, kernel.stores, kernel.accumulates) == (None, 15, None)
    # 1 SMEM load, 12 in the loops, 1 of 3 possible in the branch, 2 in each of 5 turns
    assert (tally.most("get"), tally.most("swap")) == (1 + 12 + 1 + 10, 12 + 1 + 5)
    assert (kernel.bytes_in, kernel.bytes_out) == (tally.bytes_in, tally.bytes_out)


# ---------------------------------------------------------------- random kernels

LOAD, STORE, ADD, COPY = "load", "store", "add", "copy"
ROWS = st.integers(1, 8)

statements = st.recursive(
    st.tuples(st.sampled_from([LOAD, STORE, ADD, COPY]), ROWS),
    lambda inner: st.one_of(
        st.tuples(st.just("loop"), st.integers(1, 3), st.lists(inner, min_size=1, max_size=3)),
        st.tuples(st.just("when"), st.integers(0, 2), st.lists(inner, min_size=1, max_size=3)),
        st.tuples(st.just("either"), st.lists(inner, max_size=2), st.lists(inner, max_size=2)),
        st.tuples(st.just("scoped"), st.lists(inner, min_size=1, max_size=2)),
    ),
    max_leaves=8,
)


def build(program: list[Any], x_ref: Any, hbm: Any, o_ref: Any, step: Any) -> None:
    """Write the statements of a random kernel."""
    for word, *rest in program:
        match word:
            case "load":
                o_ref[0, 0:1] = jnp.sum(x_ref[0 : rest[0]]).reshape(1)
            case "store":
                o_ref[0 : rest[0]] = jnp.zeros((rest[0], 128))
            case "add":
                o_ref[0 : rest[0]] += x_ref[0 : rest[0]]
            case "copy":
                pltpu.sync_copy(hbm.at[pl.ds(0, rest[0])], o_ref.at[pl.ds(0, rest[0])])
            case "loop":
                jax.lax.fori_loop(0, rest[0], lambda i, c, body=rest[1]: build(body, x_ref, hbm, o_ref, step) or c, 0)
            case "when":
                pl.when(step == rest[0])(lambda body=rest[1]: build(body, x_ref, hbm, o_ref, step))
            case "either":
                first, second = rest
                jax.lax.cond(
                    step < 1,
                    lambda body=first: build(body, x_ref, hbm, o_ref, step),
                    lambda body=second: build(body, x_ref, hbm, o_ref, step),
                )
            case "scoped":

                def inside(buf, body=rest[0]):
                    build(body, x_ref, hbm, buf, step)
                    o_ref[0:1] = buf[0:1]  # else tracing drops the whole scope: nobody would see what it does

                pl.run_scoped(inside, pltpu.VMEM((8, 128), jnp.float32))


def worked_out(program: list[Any], step: int | None) -> dict[str, int]:
    """Loads, stores and copies of one step by the meaning of the statements; without a step, the fullest possible."""
    total = {"loads": 0, "stores": 0, "copies": 0, "bytes": 0}

    def plus(times: int, part: dict[str, int]) -> None:
        for key in total:
            total[key] += times * part[key]

    for word, *rest in program:
        match word:
            case "load":
                plus(1, {"loads": 1, "stores": 1, "copies": 0, "bytes": 0})
            case "store":
                plus(1, {"loads": 0, "stores": 1, "copies": 0, "bytes": 0})
            case "add":
                plus(1, {"loads": 2, "stores": 1, "copies": 0, "bytes": 0})
            case "copy":
                plus(1, {"loads": 0, "stores": 0, "copies": 1, "bytes": 512 * rest[0]})
            case "loop":
                plus(rest[0], worked_out(rest[1], step))
            case "when":
                plus(int(step in (None, rest[0])), worked_out(rest[1], step))
            case "either":
                parts = [worked_out(body, step) for body in rest]
                plus(1, parts[step >= 1] if step is not None else {k: max(p[k] for p in parts) for k in total})
            case "scoped":
                plus(1, worked_out(rest[0], step))
                plus(1, {"loads": 1, "stores": 1, "copies": 0, "bytes": 0})
    return total


@settings(max_examples=40)
@given(st.lists(statements, min_size=1, max_size=4))
def test_random_kernels(program):
    def kernel(x_ref, hbm, o_ref):
        build(program, x_ref, hbm, o_ref, pl.program_id(0))

    def function(x, y):
        block = pl.BlockSpec((8, 128), lambda i: (i, 0))
        return pl.pallas_call(
            kernel, grid=(3,), in_specs=[block, pl.BlockSpec(memory_space=pl.ANY)], out_specs=block,
            out_shape=f32(24, 128),
        )(x, y)  # fmt: skip

    _, tally, record = replayed(function, x=floats(24, 128), y=floats(8, 128))
    steps = [worked_out(program, step) for step in range(3)]
    assert [s["get"] for s in tally.steps] == [s["loads"] for s in steps]
    assert [s["swap"] for s in tally.steps] == [s["stores"] for s in steps]
    fullest = worked_out(program, None)
    assert record.stores is not None and record.accumulates is not None
    assert record.loads == fullest["loads"]
    assert record.copies == fullest["copies"]
    assert record.bytes_in == tally.bytes_in == 3 * 4096 + sum(s["bytes"] for s in steps)
    assert record.bytes_out == tally.bytes_out == 3 * 4096


# ---------------------------------------------------------------- random grids

AXIS = st.integers(0, 2)
BLOCK = st.one_of(
    st.tuples(st.just("first")),
    st.tuples(st.just("axis"), AXIS),
    st.tuples(st.just("half"), AXIS),
    st.tuples(st.just("sum"), AXIS, AXIS),
    st.tuples(st.just("back"), AXIS),
)


def block_of(choice: tuple[Any, ...], ids: tuple[Any, ...], count: int) -> Any:
    """One entry of a random index map: a block below `count`."""
    at = [ids[axis % len(ids)] for axis in choice[1:]]
    match choice[0]:
        case "first":
            return 0
        case "axis":
            return jnp.minimum(at[0], count - 1)
        case "half":
            return (at[0] // 2) % count
        case "sum":
            return (at[0] + at[1]) % count
        case _:
            return (count - 1 - at[0]) % count


@settings(max_examples=25)
@given(
    grid=st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple),
    maps=st.lists(BLOCK, min_size=3, max_size=3),
    rows=st.integers(1, 40),
)
def test_random_grids(grid, maps, rows):
    """What the pipeline moves: blocks that stay are not moved again, and what hangs over the edge is not in HBM."""
    count = -(-rows // 8)

    def spec(choice):
        return pl.BlockSpec((8, 128), lambda *ids: (block_of(choice, ids, count), 0))

    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] = x_ref[...] + y_ref[...]

    def function(x, y):
        x_map, y_map, o_map = maps
        return pl.pallas_call(
            kernel, grid=grid, in_specs=[spec(x_map), spec(y_map)], out_specs=spec(o_map), out_shape=f32(rows, 128)
        )(x, y)

    _, tally, record = replayed(function, x=floats(rows, 128), y=floats(rows, 128))
    assert (record.bytes_in, record.bytes_out) == (tally.bytes_in, tally.bytes_out)
    assert (record.loads, record.stores) == (tally.most("get"), tally.most("swap")) == (2, 1)
