"""Which block each operand of a lowered kernel has at every grid step, and what moves: against what the facts say.

Every step is compared, and none is left out where the grid is long: the index maps are worked out for all steps at
once, which takes some milliseconds for a million. A sample could miss a map that is another one in a few steps."""

from __future__ import annotations

from collections.abc import Iterator

import jax.numpy as jnp
import numpy as np

from tutor.grid_walk import OperandWalk, follow_law
from tutor.jaxpr.lowered import LoweredKernel
from tutor.jaxpr.nest import item_bytes
from tutor.jaxpr.walks import MOST_WALKED
from tutor.judge.alike import PIPELINED, words
from tutor.protocol import BlockLaw, BlockWalk, KernelFacts, Operand


def other_blocks(kernel: KernelFacts, lowered: LoweredKernel) -> Iterator[str]:
    """How the blocks, and the bytes that follow from them and from the kernel's own copies, differ."""
    if kernel.kernel.primitive == PIPELINED:
        yield from _walks(kernel, lowered)
    yield from _bytes(kernel, lowered)


def unconfirmed(kernel: KernelFacts, lowered: LoweredKernel) -> list[str]:
    """Operands whose blocks only one of both could work out."""
    told = {one.operand for many in (kernel.walks, kernel.laws, kernel.staged) for one in many}
    short = lowered.steps is not None and len(lowered.steps) <= MOST_WALKED
    found = []
    for i, blocks in lowered.blocks.items() if kernel.kernel.primitive == PIPELINED else ():
        name = kernel.kernel.operands[i].name
        if (blocks is None and name in told) or (blocks is not None and short and name not in told):
            found.append(name)
    return found


def _walks(kernel: KernelFacts, lowered: LoweredKernel) -> Iterator[str]:
    told: dict[str, BlockWalk | BlockLaw] = {walk.operand: walk for walk in kernel.laws}
    told.update((walk.operand, walk) for walk in kernel.walks)
    for i, blocks in lowered.blocks.items():
        operand, ref = kernel.kernel.operands[i], lowered.refs[i]
        walk = told.pop(operand.name, None)
        if walk is None or blocks is None or ref.array is None:
            continue
        shapes = (walk.array_shape, walk.block_shape)
        if shapes != (list(ref.array[0]), list(ref.type.shape)):
            yield f"cuts {operand.name} into blocks of {words(ref.type.shape)}; the walk shows {words(shapes[1])}"
            continue
        counts = [d for d, n in enumerate(walk.block_shape) if n != 1]  # an index of single elements counts both
        elements = [bool(walk.element) and walk.element[d] for d in counts]
        if elements != [ref.window is not None and ref.window.element] * len(counts):
            yield f"counts {operand.name} in {'blocks' if any(elements) else 'elements'}; the trace shows otherwise"
        yield from _steps(operand.name, walk, blocks, lowered)
    if told:
        yield f"has no blocks of {', '.join(sorted(told))}; the trace shows some"


def _steps(name: str, walk: BlockWalk | BlockLaw, blocks: np.ndarray, lowered: LoweredKernel) -> Iterator[str]:
    if isinstance(walk, BlockLaw):
        told = follow_law(walk.base, walk.terms, [n for n in lowered.function.grid if n is not None])
    else:
        told = np.array(walk.blocks, np.int64).reshape(len(walk.blocks), len(walk.array_shape))
    if told.shape != blocks.shape:
        yield f"has {len(blocks)} steps with a block of {name}; the trace shows {len(told)}"
        return
    other = np.flatnonzero((told != blocks).any(axis=1))
    if other.size:
        step = int(other[0])
        yield (
            f"works on block {words(blocks[step])} of {name} in step {step}; the trace shows block {words(told[step])}"
        )


def _bytes(kernel: KernelFacts, lowered: LoweredKernel) -> Iterator[str]:
    """What the pipeline moves follows from the blocks; what the kernel's own copies move, from its scalar program."""
    staged = {one.operand: one for one in kernel.staged}
    pipeline: list[int | None] = [0, 0]
    for i in lowered.blocks if kernel.kernel.primitive == PIPELINED else ():
        operand = kernel.kernel.operands[i]
        walk = _walk(operand, lowered, i)
        way = int(i >= lowered.inputs)
        before = pipeline[way]
        if walk is None or before is None:
            pipeline[way] = None
            continue
        read = (walk.transfers, walk.bytes_moved(), walk.least_moves, walk.least_bytes())
        pipeline[way] = before + read[1]
        one = staged.get(operand.name)
        if one and (one.moves, one.bytes, one.least_moves, one.least_bytes) != read:
            yield f"moves {read[1]:,} bytes of {operand.name} in {read[0]} blocks; the trace shows {one.bytes:,}"
    if lowered.copies and any(operand.dtype == "bool" for operand in kernel.kernel.operands):
        return  # truth values are copied as integers of four bytes
    for way, told in enumerate((kernel.kernel.bytes_in, kernel.kernel.bytes_out)):
        staged_bytes = pipeline[way]
        possible = [] if staged_bytes is None else [staged_bytes + copied[way] for copied in lowered.copied]
        if told is not None and possible and told not in possible:
            yield f"moves {possible[0]:,} bytes {('from', 'to')[way]} HBM; the trace counts {told:,}"


def _walk(operand: Operand, lowered: LoweredKernel, i: int) -> OperandWalk | None:
    """The walk of one Ref, None if it cannot be known."""
    blocks, ref = lowered.blocks[i], lowered.refs[i]
    padded = ref.window is not None and ref.window.padded
    if blocks is None or ref.array is None or padded or operand.dtype.startswith("key<"):
        return None
    shape = tuple(n or 1 for n in ref.type.shape)
    grid = tuple(n for n in lowered.function.grid if n is not None)
    element = (ref.window is not None and ref.window.element,) * len(shape)
    size = item_bytes(jnp.dtype(operand.dtype))
    return OperandWalk(grid, ref.array[0], shape, blocks, i >= lowered.inputs, size, element)
