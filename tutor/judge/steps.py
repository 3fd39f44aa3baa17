"""Which grid step wrote an element of the result, from the walk of the kernel that made it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tutor.grid_walk import OperandWalk, step_that_wrote
from tutor.protocol import BlockWalk, CaseFacts

StepOf = Callable[[int, Sequence[int]], tuple[list[int], list[int]] | None]
"""From (output of the entry, element index) to (block index, grid index of the last step that had this block)."""


def step_finder(facts: CaseFacts | None) -> StepOf:
    """A `StepOf` for one case; it answers None where the facts do not say."""
    walks: dict[int, OperandWalk] = {}
    for kernel in facts.kernels if facts else []:
        grid = tuple(size for size in kernel.kernel.grid if size is not None)
        for walk in kernel.walks:
            if walk.output is not None and walk.output < len(kernel.output_arguments) and not walk.moved:
                output = kernel.output_arguments[walk.output]
                if output is not None:
                    walks[output] = _operand_walk(walk, grid)

    def step_of(output: int, element: Sequence[int]) -> tuple[list[int], list[int]] | None:
        walk = walks.get(output)
        if walk is None or len(element) != len(walk.array_shape):
            return None  # the output was reshaped after the kernel, or no kernel made it
        found = step_that_wrote(walk, element)
        return None if found is None else (list(found[0]), list(found[1]))

    return step_of


def block_shapes(facts: CaseFacts | None) -> dict[int, tuple[int, ...]]:
    """The block shape of every output of the entry that a kernel writes in blocks, by position."""
    found: dict[int, tuple[int, ...]] = {}
    for kernel in facts.kernels if facts else []:
        outputs = [operand for operand in kernel.kernel.operands if operand.role == "output"]
        moved = {walk.output for walk in kernel.walks if walk.moved}
        for i, (operand, output) in enumerate(zip(outputs, kernel.output_arguments, strict=False)):
            if output is not None and operand.block_shape and i not in moved:
                found[output] = tuple(1 if size is None else size for size in operand.block_shape)
    return found


class Store(NamedTuple):
    """Where the attempt writes an output: the last store or copy into it."""

    ref: str
    line: int | None
    column: int | None


def stores(facts: CaseFacts | None) -> dict[int, Store]:
    """The `Store` of every output of the entry that a kernel writes, by position."""
    found: dict[int, Store] = {}
    for kernel in facts.kernels if facts else []:
        outputs = [operand for operand in kernel.kernel.operands if operand.role == "output"]
        for operand, output in zip(outputs, kernel.output_arguments, strict=False):
            for access in kernel.kernel.accesses if output is not None else ():
                into = access.to if access.kind == "copy_start" else access.ref
                if output is not None and into == operand.name and access.kind in ("store", "accumulate", "copy_start"):
                    found[output] = Store(operand.name, access.line, access.column)
    return found


def _operand_walk(walk: BlockWalk, grid: tuple[int, ...]) -> OperandWalk:
    return OperandWalk(
        grid=grid,
        array_shape=tuple(walk.array_shape),
        block_shape=tuple(walk.block_shape),
        blocks=np.asarray(walk.blocks, np.int64).reshape(len(walk.blocks), len(walk.array_shape)),
        output=True,
        element=tuple(walk.element),
    )
