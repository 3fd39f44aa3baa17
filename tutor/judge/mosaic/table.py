"""What each operation means: from its name to a function that makes it ready to run.

A meaning takes the operation and the machine, reads the attributes once, and returns a function of the operands'
values: numbers are NumPy scalars, vectors arrays that nobody changes, memrefs views of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tutor.judge.mosaic.machine import Machine, Meaning
from tutor.judge.mosaic.reading import Op

MEANINGS: dict[str, tuple[Meaning, frozenset[str]]] = {}


def operation(*names: str, knows: Sequence[str] = ()) -> Callable[[Meaning], Meaning]:
    """Put a meaning into the table. `knows`: the attributes that it reads or may leave unread; an operation with any
    other is not run."""

    def put(meaning: Meaning) -> Meaning:
        MEANINGS.update((name, (meaning, frozenset(knows))) for name in names)
        return meaning

    return put


def pure(name: str, compute: Callable[..., Any]) -> None:
    """An operation that is one function of its operands and has no attribute that matters."""

    def meaning(op: Op, machine: Machine) -> Callable[..., Any]:
        return compute

    operation(name)(meaning)


def segments(op: Op, values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """The operands in the groups in which the operation has them."""
    first = 0
    for size in op.attributes["operandSegmentSizes"]:
        yield values[first : first + size]
        first += size
