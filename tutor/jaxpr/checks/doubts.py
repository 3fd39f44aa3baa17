"""What is right in many kernels, and explains a wrong result in others: it is said only where the numbers are wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tutor.jaxpr.checks.grid import unvisited_blocks
from tutor.jaxpr.checks.kernel import KernelView, Rule, changes, tuple_text
from tutor.jaxpr.checks.numbers import dots, stored_sum
from tutor.jaxpr.checks.walk import Event
from tutor.jaxpr.compat import Var, space
from tutor.jaxpr.flow import Use
from tutor.jaxpr.scalars import Array
from tutor.protocol import Finding


def factors_do_not_meet(kernel: KernelView) -> Iterator[Finding]:
    """KT351. A product sums over one axis of both factors: at every step both must hold the same part of that axis."""
    for event in dots(kernel):
        left, right = (_part(kernel, event, position) for position in (0, 1))
        if left is None or right is None or left.length != right.length or event.active is None:
            continue
        rows = np.flatnonzero(event.active & (left.begins != right.begins))
        if not rows.size:
            continue
        row = int(rows[0])
        a, b = kernel.walk.name(left.ref), kernel.walk.name(right.ref)
        yield kernel.say(
            "KT351",
            f"This product sums over dimension {left.axis} of {a} and dimension {right.axis} of {b}. At "
            f"{kernel.step(row)} {a} holds the elements from {left.begins[row]} on, and {b} those from "
            f"{right.begins[row]} on, so numbers are multiplied that do not belong together.",
            severity="warning",
            event=event,
            ref=right.ref,
            hint=f"Both index maps must use the same grid index there: compare dimension {left.axis} of the map of "
            f"{a} with dimension {right.axis} of the map of {b}.",
        )


class _Part(NamedTuple):
    """Which part of a factor's contracted axis is loaded: its first element at every step."""

    ref: Var
    axis: int
    length: int
    begins: Array


def _part(kernel: KernelView, dot: Event, position: int) -> _Part | None:
    contracted = dot.eqn.params["dimension_numbers"][0][position]
    if len(contracted) != 1:
        return None
    for ref, blocks in kernel.blocks.items():
        mapping = kernel.mapping(ref)
        for load in kernel.walk.of(ref):
            if not (_loads_all(load) and _reaches(kernel, load, dot, position)):
                continue
            kept = [axis for axis, size in enumerate(mapping.block_shape) if size is not None]
            axis = kept[contracted[0]]
            begins = blocks[:, axis] if mapping.element[axis] else blocks[:, axis] * mapping.sizes[axis]
            return _Part(ref, axis, mapping.array_shape[axis], begins)
    return None


def _loads_all(event: Event) -> bool:
    op = event.op
    return op is not None and op.kind == "load" and op.view.whole and op.mask is None


def _reaches(kernel: KernelView, load: Event, dot: Event, position: int) -> bool:
    """Whether what is loaded is the factor, but for its dtype."""

    def through(use: Use) -> bool:
        return use.eqn is not None and use.eqn.primitive.name in ("convert_element_type", "copy")

    uses = kernel.flow.forward(load.eqn.outvars[0], through)
    return any(use.eqn is dot.eqn and use.position == position for use in uses)


def sum_and_block_part(kernel: KernelView) -> Iterator[Finding]:
    """KT347. A running sum must begin with its output block and be stored when it is complete."""
    for ref in kernel.data_refs(*kernel.parts.scratch, *kernel.parts.outputs):
        events = [e for e in kernel.walk.of(ref) if e.op is not None]
        stores = {id(e.eqn): e for e in events if e.op is not None and e.op.kind == "store"}
        sums = [s for e in events if e.op is not None and e.op.kind == "load" and (s := stored_sum(kernel, e, stores))]
        out = ref if ref in kernel.blocks else _flows_to(kernel, events)
        if not sums or out is None or out not in kernel.blocks or out in kernel.parts.inputs:
            continue
        added = sums[0]
        fresh = [e for e in stores.values() if not any(e is s for s in sums)]
        known = [e.active for e in (*fresh, *sums)]
        if not fresh or added.repeats or any(active is None for active in known):
            continue
        order = [id(e) for e in kernel.walk.events]
        if any(order.index(id(e)) > order.index(id(added)) for e in fresh):
            continue  # it is set anew after it was stored: another, right way
        yield from _compared(kernel, ref, out, added, fresh)


def _compared(kernel: KernelView, ref: Var, out: Var, added: Event, fresh: list[Event]) -> Iterator[Finding]:
    blocks = kernel.blocks[out]
    begins = changes(blocks)
    resets = np.zeros(len(blocks), bool)
    for event in fresh:
        if event.active is not None:
            resets |= event.active
    name, whose = kernel.walk.name(ref), kernel.walk.name(out)
    late, early = np.flatnonzero(begins & ~resets), np.flatnonzero(resets & ~begins)
    if late.size:
        row = int(late[0])
        message = (
            f"At {kernel.step(row)} block {tuple_text(blocks[row])} of {whose} begins, and {name} is not set to its "
            "first value: the new sum begins with what was there before."
        )
    elif early.size:
        row = int(early[0])
        message = (
            f"At {kernel.step(row)} {name} is set to its first value again, though block {tuple_text(blocks[row])} of "
            f"{whose} began earlier: what was summed for it so far is lost."
        )
    else:
        return
    yield kernel.say(
        "KT347",
        message,
        severity="warning",
        event=fresh[0],
        ref=ref,
        hint=f"Set {name} where the block of {whose} is new: when every grid axis that is summed over is at 0.",
    )


def _flows_to(kernel: KernelView, events: list[Event]) -> Var | None:
    """The output that a scratch is stored to."""
    stores = {id(e.eqn): e.ref for e in kernel.walk.events if e.op is not None and e.op.kind == "store"}

    def through(use: Use) -> bool:
        return use.eqn is not None and id(use.eqn) not in stores

    for event in events:
        if event.op is None or event.op.kind != "load":
            continue
        for use in kernel.flow.forward(event.eqn.outvars[0], through):
            ref = stores.get(id(use.eqn)) if use.eqn is not None and use.position == 1 else None
            if ref in kernel.parts.outputs:
                return ref
    return None


def aliased_memory_is_read_after_its_write(kernel: KernelView) -> Iterator[Finding]:
    """KT348. Two Refs of HBM that alias are one buffer: a read after a write in the same step gives the new values."""
    for into, out in kernel.parts.aliased.items():
        if space(into.aval) not in ("any", "hbm") or space(out.aval) not in ("any", "hbm"):
            continue
        wrote: Event | None = None
        for event in kernel.walk.events:
            if event.op is None or event.op.kind not in ("copy_start", "store", "load"):
                continue
            if wrote is not None and into in (event.source, event.ref if event.op.kind == "load" else None):
                a, b = kernel.walk.name(into), kernel.walk.name(out)
                line = f" on line {wrote.place.line}" if wrote.place else ""
                yield kernel.say(
                    "KT348",
                    f"{a} and {b} are one buffer in HBM (input_output_aliases). {b} was written{line}, and here {a} is "
                    "read: where the two overlap this gives the new values, not those that were passed in.",
                    severity="warning",
                    event=event,
                    ref=into,
                    hint=f"Copy what is still needed of {a} into VMEM before {b} is written, or do not alias them.",
                )
                break
            if event.ref == out and event.op.kind != "load":
                wrote = wrote or event


def unvisited_blocks_keep_the_alias(kernel: KernelView) -> Iterator[Finding]:
    """KT349. Where no grid step goes, an aliased output keeps what its input holds: it must be the right one."""
    for into, out in kernel.parts.aliased.items():
        unvisited = unvisited_blocks(kernel, out)
        if unvisited is None:
            continue
        a, b = kernel.walk.name(into), kernel.walk.name(out)
        yield kernel.say(
            "KT349",
            f"{unvisited} They keep what {a} holds, for input_output_aliases makes {a} and {b} one array. Is {a} the "
            "operand that was meant?",
            severity="warning",
            ref=out,
            hint="The numbers in input_output_aliases count all operands, and the scalar-prefetch operands come first.",
        )


DOUBTS: tuple[Rule, ...] = (
    factors_do_not_meet,
    sum_and_block_part,
    aliased_memory_is_read_after_its_write,
    unvisited_blocks_keep_the_alias,
)
