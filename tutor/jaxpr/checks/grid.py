"""Rules on the grid: which block each step works on, in which order."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from tutor.jaxpr.checks.kernel import KernelView, changes, tuple_text
from tutor.jaxpr.compat import Var
from tutor.jaxpr.index_maps import block_starts
from tutor.jaxpr.kernels import Mapping
from tutor.jaxpr.scalars import Array
from tutor.protocol import Finding


def parallel_axis_shares_a_block(kernel: KernelView) -> Iterator[Finding]:
    """KT325. Steps along a "parallel" axis may run on two cores at once, so no two of them may write one block."""
    for ref in kernel.parts.outputs:
        indices = kernel.blocks.get(ref)
        if indices is None:
            continue
        for axis, meaning in zip(kernel.parts.own_axes, kernel.parts.semantics, strict=False):
            if "parallel" not in meaning:
                continue
            pair = _same_block_along(indices, kernel.walk.steps, axis)
            if pair is not None:
                name = kernel.walk.name(ref)
                yield kernel.say(
                    "KT325",
                    f"Grid axis {axis} is marked {meaning!r}, but {kernel.step(pair[0])} and "
                    f"{kernel.step(pair[1])} both "
                    f"write block {tuple_text(indices[pair[0]])} of {name}. Steps along a parallel axis may run on two "
                    "cores at the same time, and then one overwrites the other.",
                    ref=ref,
                    hint=f'Mark axis {axis} "arbitrary", or give {name} a block of its own for each index along it.',
                )


def _same_block_along(indices: Array, steps: Array, axis: int) -> tuple[int, int] | None:
    """Two steps that differ along `axis` and have the same block."""
    first: dict[bytes, int] = {}
    for row, index in enumerate(np.ascontiguousarray(indices)):
        seen = first.setdefault(index.tobytes(), row)
        if steps[seen, axis] != steps[row, axis]:
            return seen, row
    return None


def block_is_visited_again(kernel: KernelView) -> Iterator[Finding]:
    """KT326. An output block is written back when the grid leaves it; a later visit starts from stale memory."""
    aliased = set(kernel.parts.aliased.values())
    for ref in kernel.parts.outputs:
        indices = kernel.blocks.get(ref)
        if indices is None or ref in aliased:
            continue
        seen: dict[bytes, int] = {}
        moved = changes(indices)
        for row, index in enumerate(np.ascontiguousarray(indices)):
            before = seen.get(index.tobytes())
            if before is not None and moved[row]:
                axis = _outermost_change(kernel.walk.steps, before, row)
                yield kernel.say(
                    "KT326",
                    f"Block {tuple_text(index)} of {kernel.walk.name(ref)} is left after {kernel.step(before)} "
                    f"and visited "
                    f"again at {kernel.step(row)}, with other blocks between. When the grid leaves a block it "
                    f"is written "
                    "back, and its window in VMEM is given to other blocks; what was accumulated there is not "
                    "read again.",
                    ref=ref,
                    hint=f"Grid axis {axis} runs outside the axes that choose this block. Make it the last grid axis, "
                    "so that all visits of one block follow each other.",
                )
                break
            seen[index.tobytes()] = row


def _outermost_change(steps: Array, a: int, b: int) -> int:
    return int(np.flatnonzero(steps[a] != steps[b])[0])


def block_is_never_visited(kernel: KernelView) -> Iterator[Finding]:
    """KT327. What no grid step visits is never written: the output holds whatever the memory held before."""
    aliased = set(kernel.parts.aliased.values())
    for ref, fate in zip(kernel.parts.outputs, kernel.fates, strict=False):
        unvisited = unvisited_blocks(kernel, ref)
        if unvisited is None or ref in aliased or fate == "unused":
            continue
        message = f"{unvisited} Nothing writes them, so they hold whatever the memory held."
        if fate == "part":
            words = f"{message} That is right only if what follows the kernel throws them away."
            yield kernel.say("KT327", words, severity="note", ref=ref)
            continue
        yield kernel.say(
            "KT327",
            message,
            ref=ref,
            hint="Let the grid cover the array (pl.cdiv counts a last, partial block too), or pass an array with the "
            "wanted values and alias it onto the output with input_output_aliases.",
        )


def unvisited_blocks(kernel: KernelView, ref: Var) -> str | None:
    """A sentence that says which blocks of an output no grid step visits; None if all are visited."""
    indices = kernel.blocks.get(ref)
    if indices is None or any(kernel.mapping(ref).element):
        return None
    mapping = kernel.mapping(ref)
    counts = [-(-n // b) for n, b in zip(mapping.array_shape, mapping.sizes, strict=True)]
    visited = np.unique(indices, axis=0)
    inside = visited[((visited >= 0) & (visited < counts)).all(axis=1)]
    missing = prod(counts) - len(inside)
    if missing <= 0:
        return None
    verb = "is" if missing == 1 else "are"
    return (
        f"{missing} of the {prod(counts)} blocks of {kernel.walk.name(ref)} {verb} never visited; the first is block "
        f"{tuple_text(_first_missing(counts, inside))}."
    )


def visited_block_is_not_stored(kernel: KernelView) -> Iterator[Finding]:
    """KT350. Every visited block is written back from its window, whether or not something was stored there."""
    for ref, fate in zip(kernel.parts.outputs, kernel.fates, strict=False):
        indices = kernel.blocks.get(ref)
        writes = [e for e in kernel.walk.of(ref) if e.ref == ref and e.op and e.op.kind in ("store", "copy_start")]
        if indices is None or not writes or ref in kernel.walk.escaped or fate == "unused":
            continue
        stored = np.zeros(len(indices), bool)
        for event in writes:
            stored |= True if event.active is None else event.active
        visit = np.cumsum(changes(indices)) - 1
        served = np.zeros(visit[-1] + 1, bool)
        np.logical_or.at(served, visit, stored)
        if served.all() or not served.any():
            continue
        row = int(np.flatnonzero(~served[visit])[0])
        name = kernel.walk.name(ref)
        yield kernel.say(
            "KT350",
            f"Block {tuple_text(indices[row])} of {name} is visited at {kernel.step(row)}, and nothing is stored into "
            f"it: the condition around this store is false there. A visited block is written back all the same, with "
            "what its window in VMEM held before"
            + (", also when the output aliases an input." if ref in kernel.parts.aliased.values() else "."),
            severity="note" if fate == "part" else "error",
            event=writes[0],
            ref=ref,
            hint=f"Store a value into {name} in every case, or let the index map give only blocks that are stored.",
        )


def _first_missing(counts: list[int], visited: Array) -> Array:
    covered = np.zeros(counts, bool)
    covered[tuple(visited.T)] = True
    first: Array = np.argwhere(~covered)[0]
    return first


def block_is_out_of_range(kernel: KernelView) -> Iterator[Finding]:
    """KT328. An index map gives the number of a block; past the last block there is no memory of this array."""
    for ref, indices in kernel.blocks.items():
        mapping = kernel.mapping(ref)
        starts = block_starts(mapping, indices)
        bad = ((starts < 0) | (starts >= np.maximum(mapping.array_shape, 1))).any(axis=1)
        if not bad.any():
            continue
        row = int(np.argmax(bad))
        dim = int(np.argmax((starts[row] < 0) | (starts[row] >= np.maximum(mapping.array_shape, 1))))
        blocks = -(-mapping.array_shape[dim] // mapping.sizes[dim])
        index = int(indices[row, dim])
        yield kernel.say(
            "KT328",
            f"At {kernel.step(row)} the index map of {kernel.walk.name(ref)} gives {index} for dimension {dim}, "
            f"which has "
            f"{mapping.array_shape[dim]} elements: {_range(mapping, dim, blocks)}.",
            ref=ref,
            hint=_units_hint(mapping, dim, index, kernel.walk.name(ref)),
        )


def _range(mapping: Mapping, dim: int, blocks: int) -> str:
    if mapping.element[dim]:
        return f"the block would start at element {mapping.array_shape[dim]} or later, or before element 0"
    return f"that is {blocks} block{'s' if blocks > 1 else ''} of {mapping.sizes[dim]}, numbered 0 to {blocks - 1}"


def _units_hint(mapping: Mapping, dim: int, index: int, name: str) -> str:
    size = mapping.sizes[dim]
    if (
        not mapping.element[dim]
        and size > 1
        and index % size == 0
        and 0 <= index // size < mapping.array_shape[dim] / size
    ):
        return (
            f"{index} looks like an element offset. An index map counts blocks: return {index // size} here, "
            f"not {index}."
        )
    return f"Check the index map of {name} against the grid and the array's shape."


def aliased_block_is_read_after_it_was_written(kernel: KernelView) -> Iterator[Finding]:
    """KT333. A step that fetches an aliased block which an earlier step wrote back gets new values, or a race."""
    for into, out in kernel.parts.aliased.items():
        reads, writes = kernel.blocks.get(into), kernel.blocks.get(out)
        if reads is None or writes is None:
            continue
        loads = [e for e in kernel.walk.of(into) if e.op is not None and e.op.kind in ("load", "copy_start")]
        loaded = [e for e in loads if e.possible()]
        pair = _written_then_fetched(kernel, into, out, reads, writes) if loaded else None
        if pair is None:
            continue
        wrote, read = pair
        a, b = kernel.walk.name(into), kernel.walk.name(out)
        yield kernel.say(
            "KT333",
            f"{a} and {b} are one array (input_output_aliases). {kernel.step(wrote).capitalize()} writes block "
            f"{tuple_text(writes[wrote])} of {b}, and {kernel.step(read)} fetches the same memory as block "
            f"{tuple_text(reads[read])} of {a}. It then sees the new values, or the old ones if its fetch was started "
            "before the write-back; the order is not fixed.",
            event=loaded[0],
            ref=into,
            hint="Let every step read only blocks that no earlier step has written, or do not alias these two.",
        )


def _written_then_fetched(
    kernel: KernelView, into: Var, out: Var, reads: Array, writes: Array
) -> tuple[int, int] | None:
    """The first step that fetches memory which an earlier step wrote, and that earlier step."""
    low_r, low_w = block_starts(kernel.mapping(into), reads), block_starts(kernel.mapping(out), writes)
    if low_r.shape[1] != low_w.shape[1]:
        return None
    high_r, high_w = low_r + kernel.mapping(into).sizes, low_w + kernel.mapping(out).sizes
    for row in np.flatnonzero(changes(reads)):
        if row == 0:
            continue
        before = ((low_w[:row] < high_r[row]) & (low_r[row] < high_w[:row])).all(axis=1)
        if before.any():
            return int(np.argmax(before)), int(row)
    return None


RULES = (
    parallel_axis_shares_a_block,
    block_is_visited_again,
    block_is_never_visited,
    visited_block_is_not_stored,
    block_is_out_of_range,
    aliased_block_is_read_after_it_was_written,
)
