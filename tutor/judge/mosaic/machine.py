"""The machine that runs a kernel's blocks: values by number, a budget, and what really happened."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tutor.judge.mosaic.reading import Block, Function, Op
from tutor.judge.mosaic.types import Array, Type, Unknown, unwritten

MOST_WORK = 300_000
"""Work of one run: an operation is one unit, and so are so many elements that it makes. About half a second."""
ELEMENTS_A_UNIT = 2_000
MOST_CALLS = 32
MOST_BYTES = 1 << 28
"""Memory that a kernel may have at once, windows and scratch together."""


class TooMuch(Exception):
    """The run took more than its budget; `str()` says of what."""


class Stopped(Exception):
    """The kernel did what stops a TPU or gives it garbage: it left its memory, or waits forever."""


@dataclass
class Copy:
    """A copy that was started, and what of it is still to come."""

    source: Array
    target: Array


@dataclass
class Semaphore:
    """A count, and for copies those that were started and not waited for, the oldest first."""

    count: int = 0
    pending: deque[Copy] = field(default_factory=deque)


class Step(NamedTuple):
    """One operation, made ready to run."""

    run: Callable[..., Any]
    operands: tuple[int, ...]
    results: tuple[int, ...]
    types: tuple[Type, ...]
    work: float
    name: str


Meaning = Callable[[Op, "Machine"], Callable[..., Any]]


class Machine:
    """Runs the blocks of one module.

    `as_interpret`: memory behaves as in interpret mode and not as on a TPU: copies are done when they start, nobody
    waits, indices are kept inside, and unwritten memory holds what it holds there."""

    def __init__(
        self,
        functions: dict[str, Function],
        meanings: dict[str, tuple[Meaning, frozenset[str]]],
        *,
        work: float = MOST_WORK,
        as_interpret: bool = False,
    ) -> None:
        self.functions = functions
        self.as_interpret = as_interpret
        self.happened: Counter[str] = Counter()
        self.left = work
        self.bounds: tuple[int, ...] = ()
        self._meanings = meanings
        self._values: dict[int, Any] = {}
        self._ready: dict[int, list[Step]] = {}
        self._semaphores: list[Semaphore] = []
        self._bytes = 0
        self._calls = 0

    def run(self, block: Block, arguments: Sequence[Any]) -> list[Any]:
        """Run a block; the values that its last operation hands on."""
        values = self._values
        values.update(zip(block.arguments, arguments, strict=True))
        steps = self._ready.get(id(block))
        if steps is None:
            steps = self._ready[id(block)] = [self._prepare(op) for op in block.body]
        for run, operands, results, types, work, name in steps:
            self.spend(work)
            made = run(*[values[operand] for operand in operands])
            if not results:
                continue
            if len(results) == 1:
                made = (made,)
            for result, type_, value in zip(results, types, made, strict=True):
                if value.shape != type_.shape or value.dtype != type_.dtype:
                    raise Unknown(f"{name} that gives {value.dtype}{list(value.shape)}")
                values[result] = value
        return [values[value] for value in block.handed]

    def call(self, name: str, arguments: Sequence[Any]) -> list[Any]:
        """Run a function of the module."""
        if name not in self.functions:
            raise Unknown(f"a call of {name[:60]}")
        if self._calls >= MOST_CALLS:
            raise TooMuch("calls inside calls")
        self._calls += 1
        handed = self.run(self.functions[name].block, arguments)
        self._calls -= 1
        return handed

    def spend(self, work: float) -> None:
        """Count work against the budget."""
        self.left -= work
        if self.left < 0:
            raise TooMuch("operations")

    def spend_elements(self, count: int) -> None:
        """Count the work on so many elements."""
        self.spend(count / ELEMENTS_A_UNIT)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """What is allocated inside is free afterwards."""
        before = self._bytes
        yield
        self._bytes = before

    def allocate(self, type_: Type) -> Array:
        """Memory of a memref's type. That of semaphores holds their numbers."""
        self._bytes += type_.size * type_.dtype.itemsize
        if self._bytes > MOST_BYTES:
            raise TooMuch("memory")
        if type_.semaphore is not None:
            first = len(self._semaphores)
            self._semaphores += [Semaphore() for _ in range(type_.size)]
            return np.arange(first, first + type_.size, dtype=np.int64).reshape(type_.shape)
        self.spend_elements(type_.size)
        return unwritten(type_.shape, type_.dtype, as_interpret=self.as_interpret)

    def semaphore(self, memory: Array) -> Semaphore:
        """The one semaphore that a memref is."""
        if memory.size != 1:
            raise Unknown("several semaphores at once")
        return self._semaphores[int(memory.reshape(-1)[0])]

    def _prepare(self, op: Op) -> Step:
        meaning, knows = self._meanings.get(op.name, (None, frozenset()))
        if meaning is None:
            raise Unknown(op.name[:80])
        strange = sorted(set(op.attributes) - knows - HARMLESS)
        if strange:
            raise Unknown(f"{op.name} with {strange[0][:60]}")
        work = 1 + sum(type_.size for type_ in op.types if type_.kind == "vector") / ELEMENTS_A_UNIT
        return Step(meaning(op, self), op.operands, op.results, op.types, work, op.name)


HARMLESS = frozenset({"fastmath", "overflowFlags", "operandSegmentSizes"})
"""Attributes that change no number here; segments are read where there are any."""
