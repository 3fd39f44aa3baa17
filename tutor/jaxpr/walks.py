"""The walks of a kernel's operands as records: step by step for short grids, as a law for long ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tutor.grid_walk import OperandWalk, find_law
from tutor.protocol import BlockLaw, BlockWalk, Staged

MOST_WALKED = 4096
"""Grids of more steps are not written out step by step."""


def block_walks(
    walks: Mapping[str, OperandWalk], outputs: Mapping[str, int], moved: Collection[int]
) -> list[BlockWalk]:
    """What `BlockWalk` says, for grids of at most `MOST_WALKED` steps. `outputs` numbers the output operands."""
    return [
        BlockWalk(
            operand=name,
            array_shape=list(walk.array_shape),
            block_shape=list(walk.block_shape),
            blocks=walk.blocks.tolist(),
            output=outputs.get(name),
            element=list(walk.element),
            moved=outputs.get(name) in moved,
        )
        for name, walk in walks.items()
        if len(walk.blocks) <= MOST_WALKED
    ]


def block_laws(walks: Mapping[str, OperandWalk], outputs: Mapping[str, int], moved: Collection[int]) -> list[BlockLaw]:
    """What `BlockLaw` says, for longer grids; an operand without such a law is left out."""
    found = {name: find_law(walk.blocks, walk.grid) for name, walk in walks.items() if len(walk.blocks) > MOST_WALKED}
    return [
        BlockLaw(
            operand=name,
            array_shape=list(walks[name].array_shape),
            block_shape=list(walks[name].block_shape),
            base=law[0],
            terms=law[1],
            output=outputs.get(name),
            element=list(walks[name].element),
            moved=outputs.get(name) in moved,
        )
        for name, law in found.items()
        if law is not None
    ]


def staged(walks: Mapping[str, OperandWalk]) -> list[Staged]:
    """What the pipeline moves for each operand."""
    return [
        Staged(name, walk.transfers, walk.bytes_moved(), walk.least_moves, walk.least_bytes())
        for name, walk in walks.items()
    ]
