"""What a lowered kernel does to its memory: every load, store and copy, by the Ref that it is of.

Which Ref that is can be followed through slices and casts to an argument of the kernel or to a buffer that is allocated
inside. How often an operation runs in one grid step follows from the loops round it, as far as their bounds are
constants; every branch counts as taken, as in the access table of the jaxpr."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tutor.jaxpr.index_functions import LOOPS, Array, Scalars, TooLong, Value
from tutor.jaxpr.mosaic_code import Block, Function, Op, Shaped

LOADS = ("vector.load", "memref.load", "tpu.vector_load", "tpu.load", "tpu.strided_load", "tpu.shuffled_load")
STORES = ("vector.store", "memref.store", "tpu.vector_store", "tpu.store", "tpu.strided_store", "tpu.shuffled_store")
COPY = "tpu.enqueue_dma"
OFF_CHIP = ("any", "hbm")
_VIEWS = (
    "tpu.memref_slice", "tpu.memref_squeeze", "tpu.memref_reshape", "tpu.memref_bitcast", "tpu.reinterpret_cast",
    "tpu.erase_memref_layout", "memref.memory_space_cast", "memref.cast",
)  # fmt: skip
_SOURCE, _TARGET = 0, 2
"""Segments of a copy's operands. Between them is the semaphore of a remote copy's source."""

type Base = int | Shaped
"""The argument that a Ref is, or the type of a buffer that is allocated inside: these have no names in the module."""


@dataclass(frozen=True, slots=True)
class Touch:
    """One load, store or copy. `shape` has no dimension of 1, and is None where data decides; `times` in one grid step
    is None where data decides. A copy goes from `ref` to `to`. `looped`: it stands in a loop."""

    kind: Literal["load", "store", "copy"]
    ref: Base
    shape: tuple[int, ...] | None
    dtype: str
    times: int | None
    looped: bool
    to: Base | None = None

    def with_refs_from(self, first: int) -> Touch:
        """The same with arguments counted from that one."""
        ref, to = (base - first if isinstance(base, int) else base for base in (self.ref, self.to))
        assert ref is not None
        return replace(self, ref=ref, to=to)


def slim(shape: Sequence[int | None]) -> tuple[int, ...] | None:
    """A shape without its dimensions of 1, which come and go when a kernel is lowered; None if one is not known."""
    known = [n for n in shape if n is not None]
    return tuple(n for n in known if n != 1) if len(known) == len(shape) else None


def bases(function: Function) -> dict[int, Base]:
    """What every Ref of a kernel is a view of."""
    found: dict[int, Base] = {n: n for n in function.body.arguments}
    for op in function.body.walk():
        if op.name in _VIEWS and op.operands[0] in found:
            found[op.results[0]] = found[op.operands[0]]
        elif op.name == "memref.alloca" and isinstance(type_ := function.types[op.results[0]], Shaped):
            found[op.results[0]] = type_
    return found


def touches(function: Function) -> list[Touch]:
    """Every load, store and copy, in the order of the module."""
    return list(_Reader(function).block(function.body, 1, False))


class _Reader:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.scalars = Scalars(function)
        self.bases = bases(function)

    def block(self, block: Block, times: int | None, looped: bool) -> Iterator[Touch]:
        for op in block.ops:
            touch = self.touch(op, times, looped)
            if touch:
                yield touch
            inside: bool = looped
            turns: int | None = 1
            if op.name in LOOPS:
                inside, turns = True, self.scalars.turns(op)
            elif not op.blocks:
                self.scalars.do(op)
            for inner in op.blocks:
                yield from self.block(inner, None if times is None or turns is None else times * turns, inside)

    def touch(self, op: Op, times: int | None, looped: bool) -> Touch | None:
        if op.name in LOADS:
            ref, value = op.operands[0], op.results[0]
        elif op.name in STORES:
            ref, value = op.operands[1], op.operands[0]
        elif op.name == COPY:
            source, target = ends(op)
            moved = shaped(self.function, source)
            return Touch("copy", self.base(source), slim(moved.shape), moved.dtype, times, looped, self.base(target))
        else:
            return None
        kind: Literal["load", "store"] = "load" if op.name in LOADS else "store"
        type_ = self.function.types[value]
        shape, dtype = ((), type_) if isinstance(type_, str) else (slim(type_.shape), type_.dtype)
        return Touch(kind, self.base(ref), shape, dtype, times, looped)

    def base(self, ref: int) -> Base:
        """Raises KeyError for a Ref that comes from nowhere known: such a kernel cannot be read."""
        return self.bases[ref]


def shaped(function: Function, ref: int) -> Shaped:
    """The type of a Ref."""
    type_ = function.types[ref]
    if not isinstance(type_, Shaped):
        raise TypeError(f"a copy of {type_}")
    return type_


def ends(copy: Op) -> tuple[int, int]:
    """The Refs that a copy goes from and to."""
    segments = copy.detail
    return copy.operands[sum(segments[:_SOURCE])], copy.operands[sum(segments[:_TARGET])]


def moved(function: Function, copy: Op) -> tuple[int | None, int | None]:
    """Bytes that one copy moves from HBM or ANY and to it; None where data decides its size."""
    source, target = (shaped(function, end) for end in ends(copy))
    sizes = [n for n in source.shape if n is not None]
    size = math.ceil(math.prod(sizes) * item_bytes(source.dtype)) if len(sizes) == len(source.shape) else None
    return size if source.space in OFF_CHIP else 0, size if target.space in OFF_CHIP else 0


# ---------------------------------------------------------------- how often copies run


def bytes_at_most(function: Function) -> tuple[int, int] | None:
    """Bytes that the kernel's own copies move from HBM or ANY and to it in one grid step, if of the branches of each
    condition the one that moves most is taken; None where a loop's turns or a copy's size are not known."""
    scalars = Scalars(function)
    try:
        return _at_most(function, scalars, function.body)
    except (TooLong, _DataDecides):
        return None


def _at_most(function: Function, scalars: Scalars, block: Block) -> tuple[int, int]:
    read = written = 0
    for op in block.ops:
        sizes: list[tuple[int, int]] = []
        if op.name == COPY:
            came, went = moved(function, op)
            if came is None or went is None:
                raise _DataDecides
            sizes = [(came, went)]
        elif op.blocks:
            sizes = [_at_most(function, scalars, inner) for inner in op.blocks]
        else:
            scalars.do(op)
        if op.name == "scf.if":
            sizes = [(max(r for r, _ in sizes), max(w for _, w in sizes))]
        turns = scalars.turns(op) if op.name in LOOPS else 1
        if turns is None and any(r or w for r, w in sizes):
            raise _DataDecides
        read += sum(r for r, _ in sizes) * (turns or 0)
        written += sum(w for _, w in sizes) * (turns or 0)
    return read, written


def bytes_copied(function: Function, steps: Array, tables: dict[int, Array]) -> tuple[int, int] | None:
    """Bytes that the kernel's own copies move from HBM or ANY and to it, over all `steps`; None where data decides.

    `steps` has one row of program ids for each grid step, `tables` the contents of arguments that are only read."""
    replay = _Replay(function, steps, tables)
    try:
        replay.block(function.body, np.ones(len(steps), bool))
    except (TooLong, _DataDecides):
        return None
    return replay.read, replay.written


class _DataDecides(Exception):
    """Whether, how often or how much a copy moves cannot be known."""


class _Replay:
    """Runs the scalar part of a kernel in all grid steps at once, and adds up what its copies move."""

    def __init__(self, function: Function, steps: Array, tables: dict[int, Array]) -> None:
        self.function = function
        self.scalars = Scalars(function, len(steps), tables)
        self.scalars.bind(function.body.arguments, [steps[:, axis] for axis in range(steps.shape[1])])
        self.read = self.written = 0
        self.copying: dict[int, bool] = {}

    def block(self, block: Block, active: Array) -> list[Value]:
        for op in block.ops:
            if op.name == COPY:
                self.copy(op, int(active.sum()))
            elif not self.copies(op):
                self.scalars.do(op)
            else:
                self.scalars.spend()
                self.scalars.bind(op.results, self.within(op, active))
        return self.scalars.read(block.ops[-1].operands) if block.ops else []

    def copies(self, op: Op) -> bool:
        """Whether a copy stands inside an operation."""
        if not op.blocks:
            return False
        if id(op) not in self.copying:
            self.copying[id(op)] = any(inner.name == COPY for block in op.blocks for inner in block.walk())
        return self.copying[id(op)]

    def copy(self, op: Op, times: int) -> None:
        if not times:
            return
        read, written = moved(self.function, op)
        if read is None or written is None:
            raise _DataDecides
        self.read += read * times
        self.written += written * times

    def within(self, op: Op, active: Array) -> list[Value]:
        scalars = self.scalars
        match op.name:
            case "scf.if":
                (condition,) = scalars.read(op.operands)
                if condition is None:
                    raise _DataDecides
                taken = np.broadcast_to(condition.astype(bool), active.shape)
                ways = zip(op.blocks, (active & taken, active & ~taken), strict=False)
                yes, no = [self.taken(block, way) for block, way in ways]
                return _chosen(taken, yes, no) if yes and no else yes or no or [None] * len(op.results)
            case "scf.for":
                return self.loop(op, active)
            case "scf.while":
                return self.while_loop(op, active)
            case "tpu.region":
                return self.block(op.blocks[0], active)
        raise _DataDecides

    def taken(self, block: Block, active: Array) -> list[Value]:
        return self.block(block, active) if active.any() else []

    def loop(self, op: Op, active: Array) -> list[Value]:
        low, high, step, *carry = self.scalars.read(op.operands)
        if low is None or high is None or step is None or not (step > 0).all():
            raise _DataDecides
        turns = np.maximum(0, -((low - high) // step))
        for turn in range(int(turns.max())):
            self.scalars.spend()
            goes = active & (turn < turns)
            self.scalars.bind(op.blocks[0].arguments, [low + turn * step, *carry])
            after = self.taken(op.blocks[0], goes) or carry
            carry = _chosen(goes, after, carry)
        return carry

    def while_loop(self, op: Op, active: Array) -> list[Value]:
        carry = self.scalars.read(op.operands)
        while True:
            self.scalars.spend()
            self.scalars.bind(op.blocks[0].arguments, carry)
            go, *passed = self.block(op.blocks[0], active)
            if go is None:
                raise _DataDecides
            goes = active & go
            if not goes.any():
                return passed
            self.scalars.bind(op.blocks[1].arguments, passed)
            carry = _chosen(goes, self.block(op.blocks[1], goes), passed)


def _chosen(condition: Array, yes: Sequence[Value], no: Sequence[Value]) -> list[Value]:
    return [None if a is None or b is None else np.where(condition, a, b) for a, b in zip(yes, no, strict=True)]


def item_bytes(dtype: str) -> float:
    """Bytes of one element of an MLIR dtype; semaphores have none."""
    digits = "".join(c for c in dtype.partition("E")[0] if c.isdigit())
    if "sem" in dtype or not digits:
        return 0
    return int(digits) / 8
