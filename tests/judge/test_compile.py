"""What the TPU compiler says of real kernels, on every chip, and in which words it is told."""

from __future__ import annotations

import asyncio

import pytest

from tests.judge.compiling import CHIPS, compile_all, line_of, needs_libtpu
from tutor.protocol import Allocation, Finding
from tutor.wire import Compiled

pytestmark = [needs_libtpu, pytest.mark.xdist_group("libtpu")]

EVERYWHERE = ("right", "core_parallel", "scratch_over_chip", "different_by_chip", "int8_product")
WANTED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(EVERYWHERE, CHIPS),
    "over_limit": ("v4", "v5e", "v6e"),
    "no_argument": ("v5e", "v5p"),
    "two_outputs": ("v5e",),
    "two_kernels": ("v5e",),
    "pipelined": ("v5e",),
    "over_own_limit": ("v5e",),
    "smem_scratch": ("v6e",),
    "smem_prefetch": ("v5e",),
    "lane_offset": ("v5e",),
    "row_offset": ("v5e",),
    "copy_of_half_a_tile": ("v5e", "v6e"),
    "copy_from_row_3": ("v5e",),
    "every_second_lane": ("v5e",),
    "int8_arithmetic": ("v5e",),
    "float16_block": ("v5e",),
    "semaphores": ("v5e",),
    "gather": ("v5e",),
    "padding_before": ("v5e",),
}


@pytest.fixture(scope="module")
def compiled() -> dict[tuple[str, str], Compiled]:
    return asyncio.run(compile_all(WANTED))


def only(answer: Compiled) -> Finding:
    assert answer.compilation.status == "failed"
    (found,) = answer.findings
    assert found.severity == "error" and found.case == "small" and found.raw and "libtpu 0." in found.raw
    return found


def figures(answer: Compiled) -> list[tuple[str | None, str, int]]:
    return [(a.operand, a.space, a.bytes) for a in answer.compilation.allocations]


@pytest.mark.parametrize("chip", CHIPS)
def test_a_right_kernel_compiles_on_every_chip(compiled: dict[tuple[str, str], Compiled], chip: str) -> None:
    answer = compiled["right", chip]
    assert answer.compilation.status == "passed" and not answer.findings
    limit = {"v4": 16, "v5e": 16, "v5p": 16, "v6e": 32, "tpu7x": 32}[chip] << 20
    capacity = {"v4": 16, "v5e": 128, "v5p": 64, "v6e": 128, "tpu7x": 64}[chip] << 20
    assert (answer.compilation.vmem_limit_bytes, answer.compilation.vmem_capacity) == (limit, capacity)


def test_windows_and_scratch_have_the_learners_names(compiled: dict[tuple[str, str], Compiled]) -> None:
    answer = compiled["right", "v5e"]
    assert answer.compilation.allocations == [
        Allocation("acc_ref", "scratch operand", "vmem", 128 * 128 * 4),
        Allocation("a_ref", "input window, 2 buffers", "vmem", 2 * 128 * 128 * 2),
        Allocation("b_ref", "input window, 2 buffers", "vmem", 2 * 128 * 128 * 2),
        Allocation("o_ref", "output window, 2 buffers", "vmem", 2 * 128 * 128 * 4),
    ]
    assert answer.compilation.vmem_bytes == sum(a.bytes for a in answer.compilation.allocations)


@pytest.mark.parametrize("chip", ["v5e", "v5p"])
def test_no_argument(compiled: dict[tuple[str, str], Compiled], chip: str) -> None:
    assert figures(compiled["no_argument", chip]) == [("o_ref", "vmem", 4096)]


def test_several_outputs(compiled: dict[tuple[str, str], Compiled]) -> None:
    assert [name for name, _, _ in figures(compiled["two_outputs", "v5e"])] == ["x_ref", "twice_ref", "square_ref"]


def test_several_kernels_are_told_apart(compiled: dict[tuple[str, str], Compiled]) -> None:
    names = {name for name, _, _ in figures(compiled["two_kernels", "v5e"])}
    assert names <= {"first.x_ref", "first.o_ref", "double.x_ref", "double.o_ref"} and len(names) > 1


def test_windows_of_emit_pipeline_are_named(compiled: dict[tuple[str, str], Compiled]) -> None:
    one = 2 * 16 * 128 * 4
    assert figures(compiled["pipelined", "v5e"]) == [("x_hbm.window", "vmem", one), ("o_hbm.window", "vmem", one)]


@pytest.mark.parametrize("chip", CHIPS)
def test_each_chip_gets_its_own_program(compiled: dict[tuple[str, str], Compiled], chip: str) -> None:
    """The block height comes from the chip's matrix unit, so chips differ."""
    height = 256 if chip in ("v6e", "tpu7x") else 128
    answer = compiled["different_by_chip", chip].compilation
    assert answer.status == "passed"
    assert {a.bytes for a in answer.allocations} <= {n * height * 128 * 4 for n in (1, 2)}


def test_over_the_limit(compiled: dict[tuple[str, str], Compiled]) -> None:
    found = only(compiled["over_limit", "v5e"])
    assert (found.code, found.ref) == ("KT602", "a_ref")
    assert found.line == line_of("pl.pallas_call(\n        kernel,\n        grid=(2, 2),")
    assert "`a_ref`: 128 x 8192 float32 = 4 MiB, twice because its index map moves" in found.message
    assert "= 8 MiB; `b_ref`: 8192 x 128 float32 = 4 MiB, twice = 8 MiB" in found.message
    assert "Together 16.1 MiB, and a kernel may use 16 MiB of VMEM." in found.message
    assert found.hint and "v5e has 128 MiB" in found.hint
    assert compiled["over_limit", "v5e"].compilation.vmem_bytes == (16 << 20) + (128 << 10)


def test_what_fits_another_chip_passes_there(compiled: dict[tuple[str, str], Compiled]) -> None:
    assert compiled["over_limit", "v6e"].compilation.status == "passed"
    found = only(compiled["over_limit", "v4"])
    assert found.code == "KT603" and "the chip has 16 MiB of VMEM" in found.message


def test_the_kernels_own_limit_counts(compiled: dict[tuple[str, str], Compiled]) -> None:
    found = only(compiled["over_own_limit", "v5e"])
    assert found.code == "KT602" and "`vmem_limit_bytes` of this kernel allows 256 KiB" in found.message
    assert compiled["over_own_limit", "v5e"].compilation.vmem_limit_bytes == 256 << 10


@pytest.mark.parametrize("chip", CHIPS)
def test_one_scratch_is_larger_than_the_chip(compiled: dict[tuple[str, str], Compiled], chip: str) -> None:
    found = only(compiled["scratch_over_chip", chip])
    assert (found.code, found.ref) == ("KT603", "big")
    assert "`big` (40960 x 1024 float32 = 160 MiB)" in found.message


@pytest.mark.parametrize(
    ("name", "chip", "ref"), [("smem_scratch", "v6e", "table"), ("smem_prefetch", "v5e", "table_ref")]
)
def test_smem(compiled: dict[tuple[str, str], Compiled], name: str, chip: str, ref: str) -> None:
    found = only(compiled[name, chip])
    assert (found.code, found.ref) == ("KT604", ref)
    assert f"`{ref}` (1048576 int32 = 4 MiB)" in found.message and "holds 1 MiB" in found.message


@pytest.mark.parametrize(
    ("name", "code", "ref", "words", "line"),
    [
        ("lane_offset", "KT605", "x_ref", "a multiple of 128", "o_ref[...] = x_ref[:, pl.ds(offset_ref[0], 128)]"),
        ("row_offset", "KT605", "x_ref", "axis 0", "o_ref[...] = x_ref[pl.ds(offset_ref[0], 16), :]"),
        ("copy_of_half_a_tile", "KT605", "x_hbm", "(8, 64) of float32", "pltpu.sync_copy(x_hbm.at[:, pl.ds(64, 64)]"),
        ("copy_from_row_3", "KT605", "x_hbm", "a multiple of 8", "pltpu.sync_copy(x_hbm.at[pl.ds(3, 8)]"),
        ("every_second_lane", "KT605", None, "every n-th element", "o_ref[...] = x_ref[:, ::2]"),
        ("int8_arithmetic", "KT606", None, "does not compute with int8", "o_ref[...] = x_ref[...] * 3"),
        ("float16_block", "KT606", None, "no registers for float16", "o_ref[...] = x_ref[...] * 2"),
        ("gather", "KT601", None, "A gather works inside one register", "o_ref[...] = jnp.take_along_axis"),
        ("padding_before", "KT601", None, "after the last one only", "grid=(8,), in_specs=[window]"),
        ("semaphores", "KT610", "sems", "5,000 semaphores", "pltpu.SemaphoreType.DMA((5000,))"),
    ],
)  # fmt: skip
def test_words_and_lines(
    compiled: dict[tuple[str, str], Compiled], name: str, code: str, ref: str | None, words: str, line: str
) -> None:
    found = only(compiled[name, "v5e"])
    assert (found.code, found.ref) == (code, ref)
    assert words in found.message and found.message.startswith("On v5e: ")
    assert found.line == line_of(line)


def test_another_chip_refuses_the_same_copy_in_other_words(compiled: dict[tuple[str, str], Compiled]) -> None:
    here, there = only(compiled["copy_of_half_a_tile", "v5e"]), only(compiled["copy_of_half_a_tile", "v6e"])
    assert (here.code, here.ref, here.line) == (there.code, there.ref, there.line) and here.raw != there.raw


@pytest.mark.parametrize("chip", CHIPS)
def test_a_type_that_one_generation_lacks(compiled: dict[tuple[str, str], Compiled], chip: str) -> None:
    answer = compiled["int8_product", chip]
    if chip != "v4":
        assert answer.compilation.status == "passed"
        return
    found = only(answer)
    assert found.code == "KT606" and "no product of int8 factors" in found.message
    assert found.line == line_of("o_ref[...] = jnp.dot(a_ref[...], b_ref[...], preferred_element_type=jnp.int32)")


@pytest.mark.parametrize("chip", CHIPS)
def test_cores(compiled: dict[tuple[str, str], Compiled], chip: str) -> None:
    found = only(compiled["core_parallel", chip])
    cores = "2 cores" if chip == "v5p" else "one core"
    assert found.code == "KT607" and f"with 4 steps, one for each core, but this chip has {cores}" in found.message
