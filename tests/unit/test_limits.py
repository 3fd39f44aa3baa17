"""What is said to limit a kernel and what would help: each answer on facts that ask for it, and on others."""

from __future__ import annotations

import math

import msgspec
import pytest

from tutor.ladder.limits import Advice, advice, better_order, loaded_again, refetched, size_words
from tutor.protocol import (
    Access,
    ArraySpec,
    BlockWalk,
    CaseFacts,
    Kernel,
    KernelFacts,
    Operand,
    Schedule,
    Staged,
    Work,
)  # fmt: skip
from tutor.roof import roof

V5E = roof("v5e")
MIB = 1 << 20


def operand(name: str, role: str = "input", dtype: str = "bfloat16") -> Operand:
    return Operand(name=name, argument=name, role=role, space="vmem", block_shape=[8, 128], shape=[8, 128], dtype=dtype)  # type: ignore[arg-type]


def load(ref: str, **more: object) -> Access:
    base = Access(
        ref=ref, space="vmem", kind="load", line=1, column=0, shape=[8, 128], dtype="float32", per_step=1, branch=False,
        bytes_per_step=4096,
    )  # fmt: skip
    return msgspec.structs.replace(base, **more)


def facts(
    *staged: Staged, dtype: str = "bfloat16", steps: int = 16, accesses: list[Access] | None = None,
    walks: list[BlockWalk] | None = None, grid: list[int] | None = None,
) -> CaseFacts:  # fmt: skip
    names = [one.operand for one in staged] or ["x_ref", "o_ref"]
    kernel = Kernel(
        name="kernel", primitive="pallas_call", facts_case="big", grid=list(grid or [steps]),
        operands=[operand(name, "output" if name == "o_ref" else "input", dtype) for name in names],
        accesses=accesses or [], loads=0, stores=0, accumulates=0, copies=0, bytes_in=0, bytes_out=0,
    )  # fmt: skip
    one = KernelFacts(
        kernel=kernel, inside=[], dots=[], aliases=[], steps=steps, interpret=False, line=1, staged=list(staged),
        walks=walks or [],
    )  # fmt: skip
    return CaseFacts(case="big", kernels=[one], outside=[], outputs=[ArraySpec("out", [8, 128], dtype)])


def once(name: str, size: int) -> Staged:
    return Staged(name, 16, size, 16, size)


def work(moved: int | None = 0, **operations: int) -> Work:
    return Work(operations=operations, moved=moved, least=moved or 0, exact=True)


def schedule(bound: str, **more: object) -> Schedule:
    base = Schedule(100.0, 1.0, bound, 4 * MIB, 0.1, 0.0, {}, [])
    return msgspec.structs.replace(base, **more)


def told(*args: object, **more: object) -> Advice:
    said = advice(*args, **more)  # type: ignore[arg-type]
    assert said is not None
    assert said.words.endswith(".") and len(said.words) < 260
    return said


STREAM = facts(once("x_ref", 32 * MIB), once("o_ref", 32 * MIB))
LEAST = 64 * MIB / 820e9 * 1e6


def test_near_the_roof_there_is_nothing_to_gain() -> None:
    said = told(STREAM, work(64 * MIB), V5E, LEAST / 0.9)
    assert said.help == "nothing" and "90% of what memory can bring" in said.words
    said = told(STREAM, work(0, bf16=197 * 10**8), V5E, 110.0)
    assert said.help == "nothing" and "91% of what the matrix unit can do" in said.words
    said = told(STREAM, work(0, vector=6144 * 10**5), V5E, 100.0)
    assert said.help == "nothing" and "100% of what the vector unit can do" in said.words


def test_float32_at_the_memory_roof_could_be_narrower() -> None:
    wide = facts(once("x_ref", 32 * MIB), once("o_ref", 32 * MIB), dtype="float32")
    assert told(wide, work(64 * MIB), V5E, LEAST / 0.9).help == "narrower dtype"
    said = told(wide, work(64 * MIB), V5E, LEAST / 0.6, schedule("memory"))
    assert said.help == "narrower dtype" and "64 MiB" in said.words


def test_many_small_copies_want_bigger_blocks() -> None:
    small = facts(once("x_ref", MIB), steps=4096)
    said = told(small, work(MIB), V5E, 1000.0, schedule("DMA overhead"))
    assert said.help == "bigger blocks" and "4,096 steps" in said.words and "256 bytes" in said.words
    assert told(small, work(MIB), V5E, 1000.0).help == "bigger blocks", "a measured time says it as well"


def test_memory_below_its_best_wants_longer_copies() -> None:
    said = told(STREAM, work(64 * MIB), V5E, LEAST / 0.6, schedule("memory"))
    assert said.help == "bigger blocks" and "longer copies" in said.words


AGAIN = Staged("x_ref", 64, 32 * MIB, 16, 8 * MIB)


def test_an_operand_that_is_fetched_again_is_named() -> None:
    said = told(facts(AGAIN, once("o_ref", MIB)), work(33 * MIB), V5E, 60.0, schedule("memory"))
    assert said.help == "bigger blocks"
    assert "`x_ref` is read 4 times over, 32 MiB for 8 MiB" in said.words


def test_what_is_fetched_again_does_not_matter_where_computing_limits() -> None:
    said = told(facts(AGAIN), work(33 * MIB, bf16=10**10), V5E, 100.0, schedule("compute"))
    assert "x_ref" not in said.words


def test_an_output_that_moves_again_is_no_input_to_read_less() -> None:
    assert refetched(facts(msgspec.structs.replace(AGAIN, operand="o_ref")).kernels[0]) is None
    assert refetched(facts(once("x_ref", MIB)).kernels[0]) is None
    assert refetched(facts(AGAIN, once("y_ref", 900 * MIB)).kernels[0]) is None, "too little to matter"
    assert refetched(facts(Staged("x_ref", 5, 5, 0, 0)).kernels[0]) is None


def walk(name: str, axes: tuple[int, ...], grid: tuple[int, int], output: int | None = None) -> BlockWalk:
    blocks = [[(i, j)[axis] for axis in axes] for i in range(grid[0]) for j in range(grid[1])]
    return BlockWalk(name, [64, 64], [8, 8], blocks, output)


def test_a_better_axis_order_is_found_and_named() -> None:
    """x follows the inner axis and is fetched in every step; y, much smaller, follows the outer one."""
    grid = (8, 8)
    walks = [walk("x_ref", (1,), grid), walk("y_ref", (0,), grid), walk("o_ref", (0, 1), grid, 0)]
    staged = [Staged("x_ref", 64, 64 * MIB, 8, 8 * MIB), Staged("y_ref", 8, 8192, 8, 8192), once("o_ref", MIB)]
    slow = facts(*staged, walks=walks, grid=list(grid), steps=64)
    assert better_order(slow.kernels[0]) == (1, 0)
    said = told(slow, work(65 * MIB), V5E, 100.0, schedule("memory"))
    assert said.help == "axis order" and "in the order 1, 0" in said.words
    walks = [walk("x_ref", (0,), grid), walk("y_ref", (1,), grid), walk("o_ref", (0, 1), grid, 0)]
    assert better_order(facts(*staged, walks=walks, grid=list(grid), steps=64).kernels[0]) is None


def test_an_order_that_cuts_a_sum_in_pieces_is_never_named() -> None:
    """The output follows the outer axis only: with the axes changed about, each of its blocks would be left and come
    back."""
    grid = (8, 8)
    walks = [walk("x_ref", (1,), grid), walk("o_ref", (0,), grid, 0)]
    staged = [Staged("x_ref", 64, 64 * MIB, 8, 8 * MIB), once("o_ref", MIB)]
    assert better_order(facts(*staged, walks=walks, grid=list(grid), steps=64).kernels[0]) is None


@pytest.mark.parametrize("grid", [[], [16], [2, 2, 2, 2, 2, 2]])
def test_no_order_without_axes_or_with_too_many(grid: list[int]) -> None:
    blocks = BlockWalk("x_ref", [8], [8], [[0]] * max(1, math.prod(grid)))
    assert better_order(facts(AGAIN, walks=[blocks], grid=grid).kernels[0]) is None


def test_walks_that_do_not_fit_their_grid() -> None:
    assert better_order(facts(AGAIN, walks=[walk("x_ref", (1,), (2, 2))], grid=[8, 8]).kernels[0]) is None


COMPUTE = schedule("compute")


def test_products_at_highest_could_be_less_precise() -> None:
    said = told(STREAM, work(MIB, f32=10**9), V5E, 100.0, COMPUTE)
    assert said.help == "lower precision" and "six passes" in said.words


def test_spills_are_named_before_anything_else_of_computing() -> None:
    said = told(STREAM, work(MIB, f32=10**9), V5E, 100.0, schedule("compute", spill_share=0.3))
    assert said.help == "fewer live values" and "30% of its stores" in said.words


def test_a_ref_that_is_loaded_twice() -> None:
    twice = facts(once("x_ref", MIB), accesses=[load("x_ref"), load("x_ref"), load("y_ref")])
    said = told(twice, work(MIB, vector=10**6), V5E, 100.0, COMPUTE)
    assert said.help == "fewer loads" and "`x_ref` is loaded 2 times" in said.words


@pytest.mark.parametrize(
    "second", [{"shape": [1, 128]}, {"branch": True}, {"kind": "store"}, {"space": "smem"}], ids=str
)
def test_other_parts_branches_stores_and_scalars_are_no_second_load(second: dict[str, object]) -> None:
    assert loaded_again(facts(once("x_ref", 1), accesses=[load("x_ref"), load("x_ref", **second)]).kernels[0]) is None


def test_the_vector_unit_and_the_matrix_unit() -> None:
    assert told(STREAM, work(MIB, vector=10**8), V5E, 100.0, COMPUTE).help == "fewer operations"
    said = told(STREAM, work(MIB, bf16=197 * 10**7), V5E, 100.0, COMPUTE)
    assert said.help == "longer products" and "10% of the time" in said.words


@pytest.mark.parametrize("us", [0.0, -1.0, math.inf, math.nan])
def test_no_time_no_advice(us: float) -> None:
    assert advice(STREAM, work(MIB), V5E, us) is None


def test_no_kernel_no_advice() -> None:
    assert advice(CaseFacts("big", [], [], []), work(MIB), V5E, 1.0) is None


def test_a_kernel_that_does_nothing_that_is_known() -> None:
    assert advice(facts(), work(None), V5E, 1.0) is not None
    assert advice(facts(steps=0), work(0), V5E, 1.0) is not None
    unknown = msgspec.structs.replace(STREAM, kernels=[msgspec.structs.replace(STREAM.kernels[0], steps=None)])
    assert advice(unknown, work(0), V5E, 1.0, schedule("DMA overhead")) is not None


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 bytes"), (512, "512 bytes"), (1536, "1.5 KiB"), (3 << 30, "3 GiB")]
)
def test_sizes(count: float, words: str) -> None:
    assert size_words(count) == words
