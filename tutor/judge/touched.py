"""What a lowered kernel loads, stores and copies, against the accesses of the facts: by Ref, by piece, by how often.

A store is lowered as a load and a store. A loop may be unrolled, so what counts is how often a piece is touched in one
grid step, over all operations that touch it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tutor.jaxpr.lowered import LoweredKernel
from tutor.jaxpr.lowered_accesses import Base, slim
from tutor.jaxpr.mosaic_code import Shaped
from tutor.judge.alike import mlir_dtype, own_refs, words
from tutor.protocol import Access, KernelFacts

_KINDS = {"load": ("load",), "store": ("load", "store"), "accumulate": ("load", "store"), "copy_start": ("copy",)}

type _Where = int | tuple[tuple[int, ...] | None, str, str]
"""An operand, by position, or a buffer that is allocated inside, by shape, dtype and space: it has no name there."""
type _Access = tuple[str, _Where, _Where | None]
type _Piece = tuple[tuple[int, ...] | None, str]
type _Pieces = dict[_Piece, tuple[int | None, bool]]
"""How often in one grid step a piece of a shape and dtype is touched (None: data decides), and whether in a loop."""


def other_accesses(kernel: KernelFacts, lowered: LoweredKernel) -> Iterator[str]:
    """How often each Ref is read and written, and in which pieces."""
    spaces = {operand.name: operand.space for operand in kernel.kernel.operands}
    for access in kernel.kernel.accesses:
        if access.kind in _KINDS and spaces.get(access.ref) != access.space:
            yield f"has no {access.ref} in {access.space}; the trace shows a {access.kind} of it"
    told, read = _told(kernel, lowered), _read(kernel, lowered)
    for (kind, where, to), pieces in read.items():
        if (kind, where, to) not in told:
            yield f"{_does(kind)} {_who(kernel, where, to)}; the trace does not show it"
        elif not _agree(said := told[kind, where, to], pieces):
            yield f"{_does(kind)} {_who(kernel, where, to)} {_pieces(pieces)}; the trace shows {_pieces(said)}"
    for kind, where, to in told.keys() - read.keys():
        yield f"never {_does(kind)} {_who(kernel, where, to)}; the trace shows it"


def _told(kernel: KernelFacts, lowered: LoweredKernel) -> dict[_Access, _Pieces]:
    operands, count = kernel.kernel.operands, len(own_refs(kernel, lowered))
    where: dict[str, _Where] = {operand.name: i for i, operand in enumerate(operands[:count])}
    for operand in operands[count:]:
        where[operand.name] = (slim(operand.shape), mlir_dtype(operand.dtype), operand.space)
    found: dict[_Access, _Pieces] = {}
    for access in kernel.kernel.accesses:
        if access.ref in where:
            to = where.get(access.to) if access.to else None
            for kind in _KINDS.get(access.kind, ()):
                _add(found, (kind, where[access.ref], to), _piece(access), access.per_step, True)
    return found


def _piece(access: Access) -> _Piece:
    by_data = access.kind == "copy_start" and access.bytes_per_step is None and access.per_step is not None
    return None if by_data else slim(access.shape), mlir_dtype(access.dtype)


def _read(kernel: KernelFacts, lowered: LoweredKernel) -> dict[_Access, _Pieces]:
    found: dict[_Access, _Pieces] = {}
    place = {ref: i for i, ref in enumerate(own_refs(kernel, lowered))}
    for touch in lowered.touches:
        to = None if touch.to is None else _where(touch.to, place)
        _add(found, (touch.kind, _where(touch.ref, place), to), (touch.shape, touch.dtype), touch.times, touch.looped)
    return found


def _where(base: Base, place: Mapping[int, int]) -> _Where:
    return (slim(base.shape), base.dtype, str(base.space)) if isinstance(base, Shaped) else place.get(base, -1)


def _add(found: dict[_Access, _Pieces], key: _Access, piece: _Piece, times: int | None, looped: bool) -> None:
    pieces = found.setdefault(key, {})
    before, inside = pieces.get(piece, (0, False))
    pieces[piece] = (None if before is None or times is None else before + times, inside or looped)


def _agree(told: _Pieces, read: _Pieces) -> bool:
    """Whether both may be of one kernel. A loop that the trace cannot count may be one whose bounds lowering knows."""
    if any(times is None for times, _ in told.values()) and any(shape is None for shape, _ in read):
        return {dtype for _, dtype in told} == {dtype for _, dtype in read}
    return told.keys() == read.keys() and all(
        told[piece][0] == times or (told[piece][0] is None and looped) for piece, (times, looped) in read.items()
    )


def _does(kind: str) -> str:
    return {"load": "loads", "store": "stores", "copy": "copies"}[kind]


def _who(kernel: KernelFacts, where: _Where, to: _Where | None) -> str:
    names = [
        kernel.kernel.operands[place].name if isinstance(place, int) else "a buffer of its own"
        for place in (where, to)
        if place is not None
    ]
    return " to ".join(names)


def _pieces(pieces: _Pieces) -> str:
    return " and ".join(
        f"{words(shape or ())} {dtype} {'?' if times is None else times} times"
        for (shape, dtype), (times, _) in pieces.items()
    )
