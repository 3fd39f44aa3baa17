"""The compiler's list of on-chip memory: every window and scratch of a kernel, its size, and the operand it is for.

Read from the text dump `post-rematerialize-allocations`. Attributes are read by name and unknown lines are passed
over, since the text differs between versions of libtpu."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from tutor.protocol import Access, Allocation, Kernel, Operand, Space

_ALLOCATION = re.compile(r"^( *)#allocation(\d+) \[(.*)\]\s*$")
_REGION = re.compile(r"^( *)\$region\d+")
_ATTRIBUTE = re.compile(r"(\w+)\s*=\s*(?:'([^']*)'|([^,\s]+))")
_USE = re.compile(r"#allocation(\d+)")
_WINDOW = re.compile(r"(input|output) window allocation for operator (?:input|output) (\d+)")
_PREFETCHED = re.compile(r"prefetched SMEM operand (\d+)")
_BUFFERS = re.compile(r"has (\d+) buffering levels")
_SPACES = {"vmem": "vmem", "smem": "smem", "sflag": "semaphore"}
_BYTES = {"bfloat16": 2, "float16": 2, "int16": 2, "uint16": 2, "float64": 8, "int64": 8, "uint64": 8}


@dataclass(frozen=True)
class Piece:
    """One allocation of the dump, and the regions of the program that enclose it, outermost first."""

    number: int
    space: str
    bytes: int
    tag: str
    used: bool
    region: tuple[int, ...] = ()


def read(dump: str, schedule: str | None = None) -> list[Piece]:
    """The allocations of one kernel. One that nothing uses takes no memory: the compiler drops it later.

    `schedule` is the text of the final program, if the compile got that far: it knows best what is still used."""
    found: list[tuple[int, dict[str, str], tuple[int, ...]]] = []
    uses: dict[int, int] = {}
    path: list[tuple[int, int]] = []  # enclosing regions as (indent, running number)
    regions = 0
    for line in dump.splitlines():
        if region := _REGION.match(line):
            path = [p for p in path if p[0] < len(region[1])] + [(len(region[1]), regions)]
            regions += 1
        elif allocation := _ALLOCATION.match(line):
            inside = tuple(number for indent, number in path if indent < len(allocation[1]) or indent == 0)
            attributes = {m[1]: m[2] if m[2] is not None else m[3] for m in _ATTRIBUTE.finditer(allocation[3])}
            found.append((int(allocation[2]), attributes, inside))
        else:
            for number in _USE.findall(line):
                uses[int(number)] = uses.get(int(number), 0) + 1
    final = {int(number) for number in _USE.findall(schedule)} if schedule else set(uses)
    return [
        Piece(
            number,
            _SPACES[attributes["space"]],
            int(attributes.get("size", "0"), 0),
            attributes.get("tag", ""),
            number in final,
            region,
        )
        for number, attributes, region in found
        if attributes.get("space") in _SPACES and "constant byte address" not in attributes.get("tag", "")
    ]


def least_vmem(kernel: Kernel) -> int:
    """Bytes of VMEM that the kernel needs at the very least: each block of its inputs and outputs once."""
    blocks = [o for o in kernel.operands if o.space == "vmem" and o.role != "scratch" and o.block_shape is not None]
    return sum(_dtype_bits(o.dtype) * prod(n or 1 for n in o.block_shape or ()) // 8 for o in blocks)


def _dtype_bits(name: str) -> int:
    digits = re.search(r"\d+", name)  # bool has none, and takes a byte
    return int(digits[0]) if digits else 8


def peak(pieces: Iterable[Piece], space: str = "vmem") -> int:
    """The most bytes of `space` that live at once: regions beside each other use the same memory in turn."""
    own: dict[tuple[int, ...], int] = {}
    for piece in pieces:
        if piece.space == space and piece.used:
            own[piece.region] = own.get(piece.region, 0) + piece.bytes
            for end in range(len(piece.region)):
                own.setdefault(piece.region[:end], 0)

    def most(region: tuple[int, ...]) -> int:
        inner = [r for r in own if len(r) == len(region) + 1 and r[: len(region)] == region]
        return own.get(region, 0) + max((most(r) for r in inner), default=0)

    return most(())


def named(pieces: Sequence[Piece], kernel: Kernel | None, prefix: str = "") -> list[Allocation]:
    """The pieces as records, each with the name of its operand or scratch where that can be told."""
    owners = owners_of(pieces, kernel)
    return [
        Allocation(
            operand=prefix + owners[piece.number].name if piece.number in owners else None,
            tag=short_tag(piece.tag),
            space=piece.space,
            bytes=piece.bytes,
        )
        for piece in pieces
        if piece.used and (piece.space != "semaphore" or piece.number in owners)
    ]


def buffers(piece: Piece) -> int:
    """How often a window is there: two where the next block is fetched while this one is worked on."""
    found = _BUFFERS.search(piece.tag)
    return int(found[1]) if found else 1


def short_tag(tag: str) -> str:
    """What a piece is, without names of the compiler's own."""
    count = _BUFFERS.search(tag)
    if window := _WINDOW.search(tag):
        return f"{window[1]} window" + (f", {count[1]} buffers" if count else "")
    if tag.startswith("scoped memory"):
        return "scoped scratch"
    return tag.split(". ")[0]


def operand_of(tag: str, kernel: Kernel) -> Operand | None:
    """The operand that a window or a prefetched scalar array belongs to."""
    outer = [operand for operand in kernel.operands if operand.role != "scratch"]
    if window := _WINDOW.search(tag):
        mine = [o for o in outer if o.role == "output"] if window[1] == "output" else outer
        return mine[int(window[2])] if int(window[2]) < len(mine) else None
    if prefetched := _PREFETCHED.search(tag):
        return outer[int(prefetched[1])] if int(prefetched[1]) < len(outer) else None
    return None


def operand_bytes(operand: Operand) -> int:
    """Bytes of one block of an operand, or of all of it where it has no blocks; tile padding is not counted."""
    shape = operand.block_shape if operand.block_shape is not None else operand.shape
    return prod(n or 1 for n in shape) * item_bytes(operand.dtype)


def item_bytes(dtype: str) -> int:
    """Bytes of one element; types below a byte count as one."""
    return _BYTES.get(dtype, 1 if "8" in dtype or "int4" in dtype or dtype == "bool" else 4)


def owners_of(pieces: Sequence[Piece], kernel: Kernel | None) -> dict[int, Operand]:
    """The operand or scratch that each piece is for, by the piece's number, as far as that can be told."""
    owners: dict[int, Operand] = {}
    if kernel is None:
        return owners
    for piece in pieces:
        operand = operand_of(piece.tag, kernel)
        if operand is not None:
            owners[piece.number] = operand
    scratch = [o for o in kernel.operands if o.role == "scratch"]
    left = _pair([p for p in pieces if p.tag.startswith("scratch operand")], scratch, owners)
    inner = [o for o in left if o.space != "semaphore"] + _inner(kernel)
    _pair([p for p in pieces if p.tag.startswith("scoped memory") and p.space != "semaphore"], inner, owners)
    return owners


def _pair(pieces: Sequence[Piece], operands: Sequence[Operand], owners: dict[int, Operand]) -> list[Operand]:
    """Give each piece the first operand of its space and, where sizes can be compared, its size, in order."""
    left = list(operands)
    for piece in pieces:
        fitting = [o for o in left if o.space == piece.space]
        exact = [o for o in fitting if piece.bytes % max(operand_bytes(o), 1) == 0 and piece.bytes >= operand_bytes(o)]
        chosen = next(iter(exact or fitting), None)
        if chosen is not None:
            owners[piece.number] = chosen
            left.remove(chosen)
    return left


def _inner(kernel: Kernel) -> list[Operand]:
    """Refs made inside the body that are no operands, such as the windows of `emit_pipeline`, by their accesses."""
    known = {operand.name for operand in kernel.operands}
    found: dict[str, Access] = {}
    for access in kernel.accesses:
        if access.ref not in known:
            found.setdefault(access.ref, access)
        if access.to is not None and access.to not in known and access.to not in found:
            found[access.to] = access
    on_chip: tuple[Space, ...] = ("vmem", "smem")
    return [
        Operand(name=ref, argument=None, role="scratch", space=a.space if a.space in on_chip else "vmem",
                block_shape=None, shape=list(a.shape), dtype=a.dtype)
        for ref, a in found.items()
    ]  # fmt: skip
