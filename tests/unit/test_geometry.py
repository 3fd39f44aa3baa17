"""What the second witness reads of grids, blocks, bytes and accesses: it agrees with honest facts, with no forged."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from kernel_samples import (
    bf16,
    block_sparse,
    copies_sometimes,
    f32,
    gather_pages,
    i32,
    loops,
    matmul,
    pipelined,
    ragged,
)
from lowering import Made, made, said
from test_counting_proof import BLOCK, block_of, build, statements

from tutor.protocol import CaseFacts, KernelFacts

replace = msgspec.structs.replace
TABLE = np.array([2, 0, 1, 2], np.int32)
ANYWHERE = pl.BlockSpec(memory_space=pl.ANY)


def add_one(x_ref: Any, o_ref: Any) -> None:
    o_ref[...] = x_ref[...] + 1


def squeezed(x: Any) -> Any:
    spec = pl.BlockSpec((None, 8, 128), lambda i, j: (i, j, 0))
    return pl.pallas_call(add_one, grid=(2, 2), in_specs=[spec], out_specs=spec, out_shape=f32(2, 16, 128))(x)


def elements(x: Any) -> Any:
    shifted = pl.BlockSpec((pl.Element(8), pl.Element(128)), lambda i: (4 * i, 0))
    spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(add_one, grid=(2,), in_specs=[shifted], out_specs=spec, out_shape=f32(16, 128))(x)


def through(prepare: Any) -> Any:
    """A kernel whose index map reads a table that the program makes of its input."""

    def function(table: Any, x: Any) -> Any:
        def kernel(table_ref: Any, x_ref: Any, o_ref: Any) -> None:
            o_ref[...] = x_ref[...]

        grid_spec = pltpu.PrefetchScalarGridSpec(
            1, grid=(4,), in_specs=[pl.BlockSpec((8, 128), lambda i, t: (t[i], 0))],
            out_specs=pl.BlockSpec((8, 128), lambda i, t: (i, 0)),
        )  # fmt: skip
        return pl.pallas_call(kernel, grid_spec=grid_spec, out_shape=f32(32, 128))(prepare(table), x)

    return function


def bools(x: Any) -> Any:
    def kernel(x_ref: Any, o_ref: Any) -> None:
        o_ref[...] = x_ref[...] > 0

    spec = pl.BlockSpec((32, 128), lambda i: (i, 0))
    return pl.pallas_call(
        kernel, grid=(2,), in_specs=[spec], out_specs=spec, out_shape=jax.ShapeDtypeStruct((64, 128), jnp.bool_)
    )(x)


def bytes_of_uint8(x: Any) -> Any:
    spec = pl.BlockSpec((32, 128), lambda i: (i, 0))
    return pl.pallas_call(
        add_one, grid=(2,), in_specs=[spec], out_specs=spec, out_shape=jax.ShapeDtypeStruct((64, 128), jnp.uint8)
    )(x)


def accumulates(x: Any) -> Any:
    def kernel(x_ref: Any, o_ref: Any, acc: Any) -> None:
        @pl.when(pl.program_id(0) == 0)
        def _() -> None:
            acc[...] = jnp.zeros_like(acc)

        acc[...] += x_ref[...].astype(acc.dtype)
        o_ref[0:4] = acc[0:4].astype(o_ref.dtype)
        o_ref[4:8] = acc[4:8].astype(o_ref.dtype)

    spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(
        kernel, grid=(2,), in_specs=[spec], out_specs=pl.BlockSpec((8, 128), lambda i: (0, 0)),
        out_shape=f32(8, 128), scratch_shapes=[pltpu.VMEM((8, 128), jnp.bfloat16)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("arbitrary",)),
    )(x)  # fmt: skip


def parallel(x: Any) -> Any:
    spec = pl.BlockSpec((8, 128), lambda i, j: (i, j))
    return pl.pallas_call(
        add_one, grid=(2, 2), in_specs=[spec], out_specs=spec, out_shape=f32(16, 256),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary")),
    )(x)  # fmt: skip


def mapped(x: Any) -> Any:
    return jax.vmap(lambda y: pl.pallas_call(add_one, out_shape=f32(8, 128))(y))(x)


def unrolled(x: Any) -> Any:
    def kernel(x_ref: Any, o_ref: Any) -> None:
        def turn(i: Any, c: Any) -> Any:
            o_ref[pl.ds(8 * i, 8)] = x_ref[pl.ds(8 * i, 8)]
            return c

        lax.fori_loop(0, 5, turn, 0, unroll=2)

    return pl.pallas_call(kernel, out_shape=f32(40, 128))(x)


def two_rows(x: Any) -> Any:
    """Reads every second row, and one row of the rest by an integer."""

    def kernel(x_ref: Any, o_ref: Any) -> None:
        o_ref[...] = x_ref[pl.ds(0, 8, stride=2)] + x_ref[3]

    return pl.pallas_call(kernel, out_shape=f32(8, 128))(x)


def outputs(x: Any) -> Any:
    def kernel(x_ref: Any, a_ref: Any, b_ref: Any) -> None:
        a_ref[...] = x_ref[...]
        b_ref[...] = x_ref[...] * 2

    a, b = pl.pallas_call(kernel, out_shape=(f32(8, 128), f32(8, 128)))(x)
    return b, a


def aliased(x: Any) -> Any:
    spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(
        add_one, grid=(2,), in_specs=[spec], out_specs=spec, out_shape=f32(16, 128), input_output_aliases={0: 0}
    )(x)


def long(x: Any) -> Any:
    spec = pl.BlockSpec((8, 128), lambda i, j, k: (jnp.minimum(i, 1) + k // 16, 0))
    return pl.pallas_call(add_one, grid=(16, 16, 32), in_specs=[spec], out_specs=spec, out_shape=f32(24, 128))(x)


def called_twice(x: Any) -> Any:
    run = jax.jit(lambda y: pl.pallas_call(add_one, out_shape=f32(8, 128))(y))
    return run(run(x))


PAGES = {"pages": f32(3, 16, 128), "table": TABLE}
HONEST: dict[str, tuple[Any, dict[str, Any]]] = {
    "matmul": (matmul, {"a": bf16(256, 384), "b": bf16(384, 128)}),
    "gather_pages": (gather_pages, PAGES),
    "block_sparse": (
        block_sparse,
        {"rows": np.array([0, 0, 3, 7], np.int32), "cols": np.array([1, 0, 0, 0], np.int32),
         "blocks": f32(4, 32, 64), "dense": f32(128, 128)},
    ),
    "pipelined": (pipelined, {"x": f32(32, 128)}),
    "copies_sometimes": (copies_sometimes, {"x": f32(32, 128)}),
    "ragged": (ragged, {"x": f32(100, 128)}),
    "loops": (loops, {"n": np.array([5], np.int32), "x": f32(8, 128)}),
    "loops over data": (loops, {"n": i32(1), "x": f32(8, 128)}),
    "squeezed": (squeezed, {"x": f32(2, 16, 128)}),
    "elements": (elements, {"x": f32(16, 128)}),
    "bools": (bools, {"x": f32(64, 128)}),
    "uint8": (bytes_of_uint8, {"x": jax.ShapeDtypeStruct((64, 128), jnp.uint8)}),
    "accumulates": (accumulates, {"x": f32(16, 128)}),
    "parallel": (parallel, {"x": f32(16, 256)}),
    "mapped": (mapped, {"x": f32(3, 8, 128)}),
    "unrolled": (unrolled, {"x": f32(40, 128)}),
    "two rows": (two_rows, {"x": f32(16, 128)}),
    "outputs": (outputs, {"x": f32(8, 128)}),
    "aliased": (aliased, {"x": f32(16, 128)}),
    "long": (long, {"x": f32(24, 128)}),
    "called twice": (called_twice, {"x": f32(8, 128)}),
}  # fmt: skip
PREPARED: dict[str, Any] = {
    "as it is": lambda t: t, "reshaped": lambda t: t.reshape(2, 2).T.reshape(4),
    "cast": lambda t: t.astype(jnp.int8).astype(jnp.int32),
    "running sum": lambda t: jnp.minimum(jnp.cumsum(t), 2), "reversed sum": lambda t: lax.cumsum(t, reverse=True) // 3,
    "largest": lambda t: jnp.minimum(t, jnp.max(t)), "with a row more": lambda t: jnp.concatenate([t, t[:1]]),
    "chosen": lambda t: jnp.where(t > 1, 1, t), "remainder": lambda t: (t - 5) % 3,
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
def test_honest_kernels_are_not_contradicted(name: str) -> None:
    assert said(made(*HONEST[name])) == []


@pytest.mark.parametrize("name", PREPARED)
def test_tables_that_the_program_makes_are_followed(name: str) -> None:
    of = made(through(PREPARED[name]), {"table": TABLE, "x": f32(24, 128)})
    assert of[1].kernels[0].walks, "the facts tell blocks"
    assert said(of) == []


def test_a_table_that_only_the_facts_know() -> None:
    artifact, facts, case, _ = made(through(lambda t: t), {"table": TABLE, "x": f32(24, 128)})
    assert [code for code, _ in said((artifact, facts, case, {}))] == ["KT397"]


def test_another_table_than_the_facts_rest_on() -> None:
    artifact, facts, case, _ = made(through(lambda t: t), {"table": TABLE, "x": f32(24, 128)})
    assert [code for code, _ in said((artifact, facts, case, {"table": TABLE[::-1].copy()}))][:1] == ["KT390"]


# ---------------------------------------------------------------- forged facts


def kernel_with(facts: CaseFacts, **changes: Any) -> CaseFacts:
    """Other facts of the only kernel; what is no field of `KernelFacts` is one of its `Kernel`."""
    (kernel,) = facts.kernels
    own = {name: value for name, value in changes.items() if name in KernelFacts.__struct_fields__}
    inner = {name: value for name, value in changes.items() if name not in own}
    return replace(facts, kernels=[replace(kernel, kernel=replace(kernel.kernel, **inner), **own)])


def grid_halved(facts: CaseFacts) -> CaseFacts:
    return kernel_with(facts, grid=[1, *facts.kernels[0].kernel.grid[1:]], steps=1)


def steps_halved(facts: CaseFacts) -> CaseFacts:
    return kernel_with(facts, steps=1)


def blocks(scale: float) -> Any:
    def forge(facts: CaseFacts) -> CaseFacts:
        (kernel,) = facts.kernels
        first, *others = kernel.kernel.operands
        walk, *walks = kernel.walks
        shape = [int(n * scale) for n in walk.block_shape]
        return kernel_with(
            facts,
            operands=[replace(first, block_shape=shape), *others],
            walks=[replace(walk, block_shape=shape), *walks],
        )

    return forge


def walk_of_one_block(facts: CaseFacts) -> CaseFacts:
    first, *others = facts.kernels[0].walks
    return kernel_with(facts, walks=[replace(first, blocks=[first.blocks[0]] * len(first.blocks)), *others])


def last_step_elsewhere(facts: CaseFacts) -> CaseFacts:
    first, *others = facts.kernels[0].walks
    return kernel_with(facts, walks=[replace(first, blocks=[*first.blocks[:-1], first.blocks[0]]), *others])


def counted_in_elements(facts: CaseFacts) -> CaseFacts:
    first, *others = facts.kernels[0].walks
    return kernel_with(facts, walks=[replace(first, element=[True] * len(first.block_shape)), *others])


def law_of_one_axis(facts: CaseFacts) -> CaseFacts:
    first, *others = facts.kernels[0].laws
    return kernel_with(facts, laws=[replace(first, terms=[[[0] for _ in axes] for axes in first.terms]), *others])


def no_walks(facts: CaseFacts) -> CaseFacts:
    return kernel_with(facts, walks=[], laws=[], staged=[])


def bytes_lowered(name: str) -> Any:
    return lambda facts: kernel_with(facts, **{name: getattr(facts.kernels[0].kernel, name) // 2})


def staged_lowered(facts: CaseFacts) -> CaseFacts:
    first, *others = facts.kernels[0].staged
    return kernel_with(facts, staged=[replace(first, bytes=first.bytes // 2), *others])


def operand(number: int, **changes: Any) -> Any:
    def forge(facts: CaseFacts) -> CaseFacts:
        told = list(facts.kernels[0].kernel.operands)
        told[number] = replace(told[number], **changes)
        return kernel_with(facts, operands=told)

    return forge


def accesses(change: Any) -> Any:
    return lambda facts: kernel_with(facts, accesses=change(list(facts.kernels[0].kernel.accesses)))


def accumulator_in_f32(facts: CaseFacts) -> CaseFacts:
    told = [replace(a, dtype="float32") if a.ref == "acc" else a for a in facts.kernels[0].kernel.accesses]
    return operand(-1, dtype="float32")(kernel_with(facts, accesses=told))


def an_accumulator_that_is_not_there(facts: CaseFacts) -> CaseFacts:
    told = list(facts.kernels[0].kernel.accesses)
    more = [replace(told[0], ref="acc", kind=kind, dtype="float32") for kind in ("load", "store")]
    return kernel_with(facts, accesses=[*told, *more])


def inside(**changes: Any) -> Any:
    """One primitive is called otherwise: `exp="log"`."""

    def forge(facts: CaseFacts) -> CaseFacts:
        told = [replace(p, name=changes.get(p.name, p.name)) for p in facts.kernels[0].inside]
        return kernel_with(facts, inside=told)

    return forge


def modes(*names: str) -> Any:
    return lambda facts: replace(facts, modes=list(names))


def first(kind: str, **changes: Any) -> Any:
    """The first access of a kind, told otherwise."""

    def change(told: list[Any]) -> list[Any]:
        number = next(i for i, access in enumerate(told) if access.kind == kind)
        told[number] = replace(told[number], **changes)
        return told

    return accesses(change)


FORGED: dict[str, tuple[str, Any]] = {
    "grid halved": ("parallel", grid_halved),
    "steps halved": ("parallel", steps_halved),
    "blocks halved": ("squeezed", blocks(0.5)),
    "blocks doubled": ("squeezed", blocks(2)),
    "an axis that the index map ignores": ("parallel", walk_of_one_block),
    "another block in the last step": ("parallel", last_step_elsewhere),
    "elements for blocks": ("parallel", counted_in_elements),
    "a law without axes": ("long", law_of_one_axis),
    "bytes read": ("matmul", bytes_lowered("bytes_in")),
    "bytes written": ("matmul", bytes_lowered("bytes_out")),
    "bytes of copies": ("copies_sometimes", bytes_lowered("bytes_in")),
    "bytes of a pipeline inside": ("pipelined", bytes_lowered("bytes_in")),
    "bytes of one operand": ("ragged", staged_lowered),
    "scratch in f32": ("accumulates", accumulator_in_f32),
    "the operand alone in f32": ("accumulates", operand(-1, dtype="float32")),
    "a scratch that is not there": ("parallel", an_accumulator_that_is_not_there),
    "a larger scratch": ("accumulates", operand(-1, shape=[16, 128])),
    "another array": ("parallel", operand(0, shape=[8, 256])),
    "another space": ("parallel", operand(0, space="smem")),
    "no input": ("parallel", operand(0, argument=None)),
    "a fresh array": ("aliased", operand(0, argument="fresh")),
    "no output": ("parallel", lambda facts: kernel_with(facts, output_arguments=[None])),
    "outputs in another order": ("outputs", lambda facts: kernel_with(facts, output_arguments=[0, 1])),
    "no alias": ("aliased", lambda facts: kernel_with(facts, aliases=[])),
    "an alias of a fresh array": (
        "aliased",
        lambda facts: kernel_with(facts, aliases=[replace(facts.kernels[0].aliases[0], source="fresh")]),
    ),
    "a part for the whole": ("parallel", first("load", shape=[4, 128])),
    "the whole for a part": ("accumulates", first("store", shape=[16, 128])),
    "one load less": ("accumulates", accesses(lambda told: told[1:])),
    "a load of another Ref": ("accumulates", first("load", ref="x_ref")),
    "a loop that turns once": ("unrolled", first("load", per_step=1)),
    "a loop over data": ("parallel", first("load", per_step=None)),
    "one turn of a loop over data": ("loops over data", accesses(lambda told: [replace(a, per_step=1) for a in told])),
    "a copy of a size that data decides": ("copies_sometimes", first("copy_start", bytes_per_step=None)),
    "no copies": ("copies_sometimes", accesses(lambda told: [a for a in told if a.kind != "copy_start"])),
    "products in bf16": ("matmul", lambda facts: kernel_with(facts, dots=[])),
    "a product under another name": ("matmul", inside(dot_general="mul")),
    "a primitive that is not there": ("parallel", inside(add="exp")),
    "semantics": ("parallel", modes("on_wait")),
    "no early copies": ("copies_sometimes", modes("on_wait")),
    "one kernel for two": ("called twice", lambda facts: replace(facts, kernels=facts.kernels[:1])),
    "a scratch by the name of a window": ("accumulates", operand(-1, name="x.window")),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_forged_facts_are_contradicted(name: str) -> None:
    of, forge = FORGED[name]
    true: Made = made(*HONEST[of])
    forged = forge(true[1])
    assert forged != true[1]
    assert {code for code, _ in said(true, forged)} == {"KT390"}


def test_blocks_that_the_facts_leave_out_are_not_confirmed() -> None:
    true = made(*HONEST["parallel"])
    assert [code for code, _ in said(true, no_walks(true[1]))] == ["KT397"]


# ---------------------------------------------------------------- random kernels


@settings(max_examples=15)
@given(st.lists(statements, min_size=1, max_size=4))
def test_random_kernels(program: list[Any]) -> None:
    def kernel(x_ref: Any, hbm: Any, o_ref: Any) -> None:
        build(program, x_ref, hbm, o_ref, pl.program_id(0))

    def function(x: Any, y: Any) -> Any:
        block = pl.BlockSpec((8, 128), lambda i: (i, 0))
        return pl.pallas_call(
            kernel, grid=(3,), in_specs=[block, ANYWHERE], out_specs=block, out_shape=f32(24, 128)
        )(x, y)  # fmt: skip

    assert said(made(function, {"x": f32(24, 128), "y": f32(8, 128)})) == []


@settings(max_examples=15)
@given(
    grid=st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple),
    maps=st.lists(BLOCK, min_size=3, max_size=3),
    rows=st.integers(1, 40),
)
def test_random_grids(grid: tuple[int, ...], maps: list[Any], rows: int) -> None:
    count = -(-rows // 8)

    def spec(choice: Any) -> Any:
        return pl.BlockSpec((8, 128), lambda *ids: (block_of(choice, ids, count), 0))

    def kernel(x_ref: Any, y_ref: Any, o_ref: Any) -> None:
        o_ref[...] = x_ref[...] + y_ref[...]

    def function(x: Any, y: Any) -> Any:
        x_map, y_map, o_map = maps
        return pl.pallas_call(
            kernel, grid=grid, in_specs=[spec(x_map), spec(y_map)], out_specs=spec(o_map), out_shape=f32(rows, 128)
        )(x, y)

    true = made(function, {"x": f32(rows, 128), "y": f32(rows, 128)})
    assert said(true) == []
    (facts,) = true[1].kernels
    moved = replace(
        true[1], kernels=[replace(facts, kernel=replace(facts.kernel, bytes_in=facts.kernel.bytes_in - 512))]
    )
    assert [code for code, _ in said(true, moved)] == ["KT390", "KT390"]
