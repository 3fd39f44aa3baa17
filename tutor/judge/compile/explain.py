"""Why the TPU compiler refused a kernel, in plain words (KT601 to KT607, KT610, KT611)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from tutor.findings import finding
from tutor.judge.compile.memory_words import for_cores, hbm, one_allocation, vmem_sum
from tutor.judge.compile.refusal import Refusal, dtype_of
from tutor.judge.compile.words import Words
from tutor.protocol import Finding

IN_THE_BODY = ("KT601", "KT605", "KT606")
"""Codes about one operation of the kernel; the others are about the call."""

_PREFIX = re.compile(
    r"^(?:\w+Error: )?[A-Z_]+: (?:Mosaic failed to compile TPU kernel with MLIR module name `.*?` HLO name `.*?`: )?"
    r"(?:E\d{4}: \w+: )?"
)


def explain(refusal: Refusal) -> Finding:
    """One finding for what the compiler raised."""
    for row in ROWS:
        match = re.search(row.pattern, refusal.text, re.S)
        if match is not None:
            return _say(refusal, row.words(refusal, match))
    return _say(refusal, anything_else(refusal))


def _say(r: Refusal, words: Words) -> Finding:
    line, column = r.place
    if words.line is not None and words.line == r.call_line:  # it is about the call, wherever the compiler met it
        line, column = words.line, None
    if line is None or line == r.call_line:  # the compiler has lost the place inside the kernel
        somewhere = r.access_line(None, "load", "store", "accumulate") if words.code in IN_THE_BODY else None
        line, column = words.line or somewhere, None
    line = line if line is not None else r.call_line
    message = f"On {r.chip}: {words.message}"
    raw = f"{r.text}\n\n[compiled for {r.chip} with libtpu {r.libtpu}]"
    return finding(words.code, message, raw=raw, line=line, column=column, ref=words.ref, case=r.case, hint=words.hint)


# ---------------------------------------------------------------- places that are not aligned


def unproven(r: Refusal, m: re.Match[str]) -> Words:
    axis, multiple = int(m["axis"]), int(m["multiple"])
    operand = r.operand()
    name = f"`{operand.name}`" if operand else "a Ref"
    doing = "stores to" if "store" in r.operation.partition("(")[0] else "loads from"
    return Words(
        "KT605",
        f"This line {doing} {name} at an index of axis {axis} that changes at run time, and the compiler cannot prove "
        f"it to be a multiple of {multiple}. {_why_tiles(multiple)}",
        f"Choose offsets that are multiples of {multiple} and say so with `pl.multiple_of(offset, {multiple})`, or "
        "take a whole block and pick the part with `pltpu.roll` or a mask.",
        operand.name if operand else None,
        r.access_line(operand, "load", "store", "accumulate"),
    )


def copy_offset(r: Refusal, m: re.Match[str]) -> Words:
    axis, multiple = int(m["axis"]), int(m["multiple"])
    ref, line = r.copied()
    name = f"`{ref}`" if ref else "a Ref"
    return Words(
        "KT605",
        f"A copy takes a part of {name} that does not begin at a multiple of {multiple} along axis {axis}, or not for "
        f"certain. {_why_tiles(multiple)} A copy moves whole tiles.",
        f"Begin at a multiple of {multiple}; an offset of run time is made known with "
        f"`pl.multiple_of(offset, {multiple})`. Or copy the whole tile and use a part of it in VMEM.",
        ref,
        line,
    )


def copy_lanes(r: Refusal, m: re.Match[str]) -> Words:
    ref, line = r.copied()
    name = f"`{ref}`" if ref else "a Ref"
    shapes = re.findall(r"memref<([\dx]+)x(\w+?),", r.operation)
    part = f" The part is {_shape(shapes[-1][0])} of {dtype_of(shapes[-1][1])}." if shapes else ""
    return Words(
        "KT605",
        f"A copy takes a part of {name} that is not made of whole tiles: along the last axis a tile has 128 lanes (512 "
        f"bytes), and a copy begins and ends at such a place.{part}",
        "Copy whole tiles, such as 128 columns from a column that is a multiple of 128, and use the part that you "
        "need in VMEM. Or give the array another layout outside the kernel, such as a first axis for the parts.",
        ref,
        line,
    )


def lane_stride(r: Refusal, m: re.Match[str]) -> Words:
    return Words(
        "KT605",
        "This line takes every n-th element along the last axis. The 128 lanes of a vector register are read side by "
        "side; only the axes before the last can be read with a stride.",
        "Load the whole block and pick with a product with a selection matrix or `jnp.take_along_axis`, or lay the "
        "array out differently outside the kernel.",
        line=r.access_line(None, "load", "store"),
    )


def _why_tiles(multiple: int) -> str:
    if multiple >= 128:
        return "Along the last axis data lies in tiles of 128 lanes, and an access begins at a whole tile."
    return f"Along the axis before the last, data of this type lies in tiles of {multiple} rows."


# ---------------------------------------------------------------- types and operations


def low_padding(r: Refusal, m: re.Match[str]) -> Words:
    return Words(
        "KT601",
        "A block has padding before its array's first element (`pl.Element(size, (low, high))` with `low` above 0). "
        "The compiler has padding after the last one only.",
        "Pad the array with `jnp.pad` outside the kernel, or let the windows begin inside and use `(0, high)`.",
        line=r.call_line,
    )


def matmul_type(r: Refusal, m: re.Match[str]) -> Words:
    types = re.findall(r"vector<[\dx]*x(\w+?)>", m[0]) or re.findall(r"vector<[\dx]*x(\w+?)>", r.operation)
    dtype = dtype_of(types[0]) if types else "this type"
    return Words(
        "KT606",
        f"The matrix unit of {r.chip} has no product of {dtype} factors. Interpret mode and other chips may have one: "
        "each generation multiplies other types.",
        "Convert the factors to bfloat16 before the product; whole numbers up to 256 stay exact in it. Or leave this "
        "chip out if the kernel is for others.",
        line=r.access_line(None, "dot"),
    )


def integer_vectors(r: Refusal, m: re.Match[str]) -> Words:
    dtype = dtype_of(m["dtype"])
    return Words(
        "KT606",
        f"The vector unit does not compute with {dtype}: it can load and store such blocks, but this line does "
        "arithmetic with them.",
        "Convert the loaded block to int32 (or float32), compute, and convert back when you store.",
    )


def vector_type(r: Refusal, m: re.Match[str]) -> Words:
    types = re.findall(r"(?:memref|vector)<[\dx]*x(\w+?)[,>]", r.operation)
    dtype = dtype_of(types[0]) if types else "this type"
    return Words(
        "KT606",
        f"The vector unit of {r.chip} has no registers for {dtype}, so a block of it cannot be loaded or stored.",
        "Use bfloat16 or float32 for blocks, and convert outside the kernel.",
    )


def shape_cast(r: Refusal, m: re.Match[str]) -> Words:
    shapes = re.findall(r"vector<([\dx]+)x\w+>", r.operation)
    change = f" from {_shape(shapes[0])} to {_shape(shapes[-1])}" if len(shapes) > 1 else ""
    return Words(
        "KT601",
        f"This line changes the shape of a block{change} in a way that moves elements between tiles, and this "
        "compiler cannot do that.",
        "Reshape outside the kernel, or keep the last axis as it is and change the axes before it only.",
    )


def gather(r: Refusal, m: re.Match[str]) -> Words:
    return Words(
        "KT601",
        "This line picks elements by index from more than one vector register. A gather works inside one register: 8 "
        "rows, or 128 columns.",
        "Work on parts of 128 columns (or 8 rows), or let the index map of a BlockSpec with scalar prefetch choose "
        "blocks.",
    )


def anything_else(r: Refusal, m: re.Match[str] | None = None) -> Words:
    said = _PREFIX.sub("", r.text).strip().partition("\n")[0].strip()
    name = re.search(r'"(\w+\.\w+)"', r.operation)
    where = f" It stopped at the operation `{name[1]}`, which this line became." if name else ""
    return Words(
        "KT601",
        f"The TPU compiler cannot make code for this kernel: {said or 'it gives no reason.'}{where}",
        "Try whole tiles, aligned slices and 32-bit types for what this line does, or write it with other operations.",
    )


def _shape(dims: str) -> str:
    return f"({dims.replace('x', ', ')})"


class Row(NamedTuple):
    """A message of the compiler, and what makes words of it."""

    pattern: str
    words: Callable[[Refusal, re.Match[str]], Words]


ROWS: tuple[Row, ...] = (
    Row(
        r"Allocation \(size=(?P<size>\d+)\) would exceed memory \(size=(?P<have>\d+)\) :: "
        r"(?P<what>.*?space=(?P<space>\w+).*)",
        one_allocation,
    ),
    Row(r"Scoped allocation with size (?P<need>[\d.]+[KMG]?) and limit (?P<have>[\d.]+[KMG]?)", vmem_sum),
    Row(r"memory space vmem\. Used (?P<need>[\d.]+[KMG]?) of (?P<have>[\d.]+[KMG]?)", vmem_sum),
    Row(r"memory required for .*?\((?P<need>[\d.]+[KMG]?)\) exceeds available HBM \((?P<have>[\d.]+[KMG]?)\)", hbm),
    Row(r"memory space hbm\. Used (?P<need>[\d.]+[KMG]?) of (?P<have>[\d.]+[KMG]?)", hbm),
    Row(r"prove that index in dimension (?P<axis>\d+) is a multiple of (?P<multiple>\d+)", unproven),
    Row(r"index at dimension (?P<axis>\d+) is divisible by the tile dimension (?P<multiple>\d+)", copy_offset),
    Row(r"dynamic offset times the element size is not a multiple", copy_lanes),
    Row(r"inner slice in the DMA transfer must be divisible", copy_lanes),
    Row(r"Slice shape along dimension \d+ must be aligned", copy_lanes),
    Row(r"[Ss]tride on last dim is not 1|last dim size is not 128 in original base memref", lane_stride),
    Row(r"Unsupported matmul \w+ type on target: [^\n]*|Bad lhs/rhs type: [^\n]*|float acc with int lhs", matmul_type),
    Row(r"Only vector<i16> and vector<i32> are supported, but got '(?P<dtype>\w+)'", integer_vectors),
    Row(r"Invalid vector type for (?:load|store)", vector_type),
    Row(r"Core-parallel dimension (?P<axis>\d+) has iteration bound: (?P<steps>\d+).*?active cores: (?P<cores>\d+)",
        for_cores),
    Row(r"unsupported shape cast", shape_cast),
    Row(r"along gather dimension", gather),
    Row(r"Low padding not supported", low_padding),
)  # fmt: skip
