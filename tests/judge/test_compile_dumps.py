"""The compiler's list of allocations as text: read by name, whatever else stands there."""

from __future__ import annotations

from tutor.judge.compile.allocations import least_vmem, named, peak, read
from tutor.judge.compile.words import number, size
from tutor.protocol import Kernel, Operand

WINDOW = (
    "input window allocation for operator input 0. The window shape is f32[8,128], while the full shape is "
    "f32[32,128]. This allocation has 2 buffering levels."
)
DUMP = f"""\
// a comment of a newer version
$region0: #{{kt0.1}}
  #allocation0 [shape = 'u32[]', space=smem, size = 0x4, fixed_abs, tag = 'smem constant byte address 0x4']
  #allocation1 [new = 3, tag = 'scratch operand', size = 0x1000, space=vmem, shape = 'f32[8,128]{{1,0:T(8,128)}}']
  #allocation2 [shape = 'u32[72,128]', space=vmem, size = 0x9000, scoped, tag = 'internal scratch']
  #allocation3 [shape = 'u8[8]', space=elsewhere, size = 0x8]
  $region1: parent=0
    #allocation4 [shape = 'u8[8192]{{0}}', space=vmem, size = 0x2000, scoped, tag = '{WINDOW}']
    %1 = vst [vmem:[#allocation1] sm:$0xff]
    %2 = dma [#allocation4]
    $region2: parent=1
      #allocation5 [shape = 'u8[4096]{{0}}', space=vmem, size = 0x4000, scoped, tag = 'scoped memory for kt0.1']
      %3 = vld [vmem:[#allocation5 + $0x8]]
    $region3: parent=1
      #allocation6 [shape = 'u8[4096]{{0}}', space=vmem, size = 0x3000, scoped, tag = 'scoped memory for kt0.1']
      %4 = vld [vmem:[#allocation6]]
"""


def operand(name: str, role: str, shape: list[int], block: list[int | None] | None = None) -> Operand:
    return Operand(name, None, role, "vmem", block, shape, "float32")  # type: ignore[arg-type]


KERNEL = Kernel(
    "kernel", "pallas_call", "small", [4],
    [
        operand("x_ref", "input", [32, 128], [8, 128]), operand("acc_ref", "scratch", [8, 128]),
        operand("big_ref", "scratch", [4096]), operand("small_ref", "scratch", [3072]),
    ],
    [], 0, 0, 0, 0, 0, 0,
)  # fmt: skip


def test_names_by_operand_and_order() -> None:
    found = [(a.operand, a.tag, a.bytes) for a in named(read(DUMP), KERNEL)]
    assert found == [
        ("acc_ref", "scratch operand", 4096),
        ("x_ref", "input window, 2 buffers", 8192),
        ("big_ref", "scoped scratch", 16384),
        ("small_ref", "scoped scratch", 12288),
    ]


def test_regions_beside_each_other_share_memory() -> None:
    assert peak(read(DUMP)) == 4096 + 8192 + 16384


def test_what_the_final_program_does_not_use_takes_no_memory() -> None:
    pieces = read(DUMP, "0x1 : { %2 = dma [#allocation4] ;; vld [vmem:[#allocation6]] }")
    assert peak(pieces) == 8192 + 12288
    assert [a.operand for a in named(pieces, None)] == [None, None]


def test_a_text_that_is_none_of_ours_has_no_allocations() -> None:
    assert read("") == [] and read("#allocation\n#allocation9 [space=vmem") == [] and peak([]) == 0


def test_figures_never_read_alike_when_they_differ() -> None:
    assert size(8 << 20) == "8 MiB" and size(131072) == "128 KiB" and size(3) == "3 bytes"
    assert size((16 << 20) + 4096, 16 << 20) == "16.004 MiB"
    assert number("16.12M") == 16.12 * (1 << 20) and number("512") == 512


def test_the_least_that_a_kernel_needs() -> None:
    """Blocks of inputs and outputs once: buffers and scratch may turn out smaller, these may not."""
    packed = Operand("p", None, "input", "vmem", [8, None, 256], [8, 4, 256], "int4")
    elsewhere = Operand("h", None, "input", "any", None, [1 << 20], "float32")
    kernel = Kernel(
        "kernel", "pallas_call", "small", [4],
        [operand("x_ref", "input", [32, 128], [8, 128]), operand("acc", "scratch", [4096]), packed, elsewhere],
        [], 0, 0, 0, 0, 0, 0,
    )  # fmt: skip
    assert least_vmem(kernel) == 8 * 128 * 4 + 8 * 256 // 2
