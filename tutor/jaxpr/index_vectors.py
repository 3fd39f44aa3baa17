"""Which operations of a StableHLO module only make index vectors.

Interpret mode takes a strided access apart: it numbers the elements, multiplies by the stride, adds the start, wraps
what is below zero, and gathers or scatters. A TPU says all of that in one load or store."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_STEPS = frozenset({
    "stablehlo.add", "stablehlo.subtract", "stablehlo.multiply", "stablehlo.compare", "stablehlo.select",
    "stablehlo.clamp", "stablehlo.minimum", "stablehlo.maximum", "stablehlo.reshape", "stablehlo.broadcast_in_dim",
    "stablehlo.concatenate", "stablehlo.convert",
})  # fmt: skip
_STARTS = ("stablehlo.iota", "stablehlo.constant")


def making_indices(operations: Iterable[Any]) -> set[Any]:
    """Of the operations of a module, in program order, those that make index vectors from counting, constants and
    scalars, and whose results nothing but a gather or scatter looks at, as where and not as what."""
    program = list(operations)
    steady: set[Any] = set()
    for op in program:  # a value is defined before it is used
        if op.name in _STARTS or (op.name in _STEPS and all(v in steady or _is_scalar(v) for v in op.operands)):
            steady.update(op.results)
    made: set[Any] = set()
    for op in reversed(program):
        if op.name in _STEPS and op.results[0] in steady:
            uses = list(op.results[0].uses)
            if uses and all(use.owner in made or _is_index(use) for use in uses):
                made.add(op)
    return made


def _is_scalar(value: Any) -> bool:
    return str(value.type).partition("<")[2].partition("x")[0][:1] not in tuple("0123456789?")


def _is_index(use: Any) -> bool:
    """Whether a value is used as the positions of a gather or scatter. A scatter takes arrays, positions, updates."""
    owner = use.owner
    if owner.name == "stablehlo.gather":
        return bool(use.operand_number == 1)
    return bool(owner.name == "stablehlo.scatter" and use.operand_number == len(owner.operands) // 2)
