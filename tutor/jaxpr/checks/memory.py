"""Rules on Refs: what is written, what is read, and what may not be touched at all."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from tutor.jaxpr.checks.kernel import KernelView
from tutor.jaxpr.checks.walk import Event
from tutor.jaxpr.compat import Constant, Dim, Var, View, is_ref, space
from tutor.jaxpr.flow import Use
from tutor.jaxpr.scalars import Value
from tutor.protocol import Finding
from tutor.protocol.facts import WINDOW


def off_chip_ref_is_indexed(kernel: KernelView) -> Iterator[Finding]:
    """KT336. A Ref in ANY or HBM names memory that the core cannot load from: copy it to VMEM first."""
    seen: set[Var] = set()
    for event in kernel.walk.events:
        op = event.op
        if op is None or op.kind not in ("load", "store") or event.ref is None or event.ref in seen:
            continue
        where = space(event.ref.aval)
        if where in ("any", "hbm"):
            seen.add(event.ref)
            name = kernel.walk.name(event.ref)
            verb = "read" if op.kind == "load" else "written"
            yield kernel.say(
                "KT336",
                f"{name} is in {where.upper()} and is {verb} with [...] here. Only Refs in VMEM or SMEM can be "
                f"indexed; a Ref "
                "in ANY or HBM can only be the source or the target of a copy.",
                event=event,
                ref=event.ref,
                hint=f"Copy the piece you need into a VMEM scratch with pltpu.sync_copy({name}.at[...], "
                f"scratch), or give "
                f"{name} a BlockSpec that stages it.",
            )


def prefetch_ref_is_written(kernel: KernelView) -> Iterator[Finding]:
    """KT337. Index maps read a scalar-prefetch Ref ahead of the steps, so a write to it comes too late for some of
    them. One that no index map reads is SMEM like any other; kernels do keep running values there."""
    for number, ref in enumerate(kernel.parts.prefetch):
        for event in _writes(kernel, ref)[:1]:
            name, steers = kernel.walk.name(ref), _steers(kernel, number)
            yield kernel.say(
                "KT337",
                f"{name} is a scalar-prefetch Ref and is written here. Index maps read it, and those of later steps "
                "may have read it already, so which blocks they mean is not defined."
                if steers
                else f"{name} is a scalar-prefetch Ref and is written here. No index map reads it, so it is SMEM that "
                "keeps its value from step to step; the array outside stays as it was.",
                severity="error" if steers else "note",
                event=event,
                ref=ref,
                hint="Keep running values in an SMEM scratch.",
            )


def _steers(kernel: KernelView, number: int) -> bool:
    """Whether an index map uses the scalar-prefetch Ref of that number. These Refs are its last inputs."""
    maps = [mapping.index_map for mapping in kernel.parts.mappings]
    tables = [(jaxpr, jaxpr.invars[len(kernel.parts.grid) :][number]) for jaxpr in maps]
    return any(table in eqn.invars for jaxpr, table in tables for eqn in jaxpr.eqns)


def input_is_stored_to(kernel: KernelView) -> Iterator[Finding]:
    """KT331. An input's window is thrown away after its step: what is stored there reaches no output."""
    given = dict(zip(kernel.parts.prefetch + kernel.parts.inputs, kernel.parts.operands, strict=False))
    for ref in kernel.data_refs(*kernel.parts.inputs):
        if ref in given and is_ref(given[ref]):
            continue  # a Ref of the program outside, as `pl.core_map` gets: it is there to be written
        off_chip = space(ref.aval) in ("any", "hbm")
        if off_chip and ref in kernel.parts.aliased:
            continue
        for event in [e for e in _writes(kernel, ref) if not _goes_elsewhere(e)][:1]:
            name = kernel.walk.name(ref)
            into = kernel.parts.aliased.get(ref)
            yield kernel.say(
                "KT331",
                f"{name} is an input and is stored to here. "
                + (
                    "An input array must stay as it is; the caller may still need it."
                    if off_chip
                    else "Its window in VMEM is never written back, so the value is lost."
                ),
                event=event,
                ref=ref,
                hint=f"Store to {kernel.walk.name(into)}: it is the output that aliases {name}, and has a "
                f"window of its own."
                if into is not None
                else "Store to an output Ref, or keep the value in a scratch.",
            )


def output_is_never_stored(kernel: KernelView) -> Iterator[Finding]:
    """KT330. Every output must be stored: what is not written is whatever the memory held."""
    back = {out: ref for ref, out in kernel.parts.aliased.items()}
    for ref, fate in zip(kernel.parts.outputs, kernel.fates, strict=True):
        if space(ref.aval) == "semaphore" or ref in kernel.walk.escaped or not len(kernel.walk.steps):
            continue
        writes = _writes(kernel, ref)
        if space(ref.aval) in ("any", "hbm") and ref in back:
            continue
        name = kernel.walk.name(ref)
        if not writes:
            yield kernel.say(
                "KT330",
                f"Nothing stores to {name}, so this output holds whatever the memory held before.",
                severity="error" if fate != "unused" else "note",
                ref=ref,
                hint=f"Store with {name}[...] = value. An assignment {name} = value only gives the name to "
                f"something else.",
            )
        elif kernel.walk.complete and not any(e.possible() for e in writes):
            yield kernel.say(
                "KT330",
                f"{name} is stored to here, but the condition around it is false at every grid step, so the "
                f"store never runs.",
                event=writes[0],
                ref=ref,
                hint="Program ids run from 0 to pl.num_programs(axis) - 1.",
            )


def read_before_write(kernel: KernelView) -> Iterator[Finding]:
    """KT332. Scratch and output windows start with whatever was in VMEM: NaN in the simulator, anything on a chip."""
    if not len(kernel.walk.steps):
        return
    off_chip = {r for r in kernel.parts.outputs if space(r.aval) in ("any", "hbm")}
    fresh = [r for r in (*kernel.parts.scratch, *kernel.parts.outputs, *kernel.walk.scoped) if r not in off_chip]
    for ref in kernel.data_refs(*fresh):
        if ref in kernel.walk.escaped:
            continue
        event = _first_read(kernel, ref)
        if event is None:
            continue
        name, never = kernel.walk.name(ref), not _writes(kernel, ref)
        if name.endswith(WINDOW):
            yield _nothing_in_the_window(kernel, event, ref, never)
            continue
        kind = "output window" if ref in kernel.parts.outputs else "scratch"
        yield kernel.say(
            "KT332",
            f"{name} is read here and nothing ever writes to it."
            if never
            else f"At {kernel.step(0)} {name} is read here before anything was written to it. A fresh {kind} is "
            "not zero: it holds whatever was in that memory before"
            + (", also when the output aliases an input." if ref in kernel.parts.aliased.values() else "."),
            event=event,
            ref=ref,
            hint="If a copy should fill it: pltpu.make_async_copy only describes one; call .start() and .wait() on it."
            if never
            else f"Give {name} its first value before the first read, for example under "
            "pl.when(pl.program_id(axis) == 0) for each axis that it accumulates over.",
        )


def _nothing_in_the_window(kernel: KernelView, event: Event, ref: Var, never: bool) -> Finding:
    """KT332 for a window of `emit_pipeline`, which the learner has no name for."""
    array = kernel.walk.name(ref).removesuffix(WINDOW)
    when = "never stores to it" if never else "has not stored to it by then"
    return kernel.say(
        "KT332",
        f"The pipeline uses its window of {array} at {kernel.step(0)}, and the body {when}. A fresh "
        "window is not zero: it holds whatever was in that memory before.",
        event=event,
        ref=ref,
        hint=f"Store to the block of {array} in the body of the pipeline, before it is read or copied out: look at the "
        "condition round the store, and at the step that first adds to it.",
    )


def _first_read(kernel: KernelView, ref: Var) -> Event | None:
    """The read that certainly runs at the first step, when nothing can have been written before."""
    for event in kernel.walk.of(ref):
        if not event.possible(0):
            continue
        if _reads(event, ref) and event.certain(0):
            return None if _thrown_away(kernel, event) else event
        if event.ref == ref and event.op is not None and event.op.kind != "load":
            return None
    return None


def _reads(event: Event, ref: Var) -> bool:
    op = event.op
    if op is None:
        return False
    if op.kind == "copy_start":
        return bool(event.source == ref)
    return bool(event.ref == ref and (op.kind == "load" or (op.kind == "store" and (op.add or event.result_used))))


def _thrown_away(kernel: KernelView, event: Event) -> bool:
    """Whether a `where` (or a mask) may drop what was read, as in `where(k == 0, 0, acc[...])`."""
    if event.op is None or event.op.kind != "load":
        return False
    if event.op.mask is not None:
        return True

    def through(use: Use) -> bool:
        return use.eqn is not None and use.eqn.primitive.name not in ("swap", "masked_swap", "addupdate")

    uses = kernel.flow.forward(event.eqn.outvars[0], through)
    return any(u.eqn is not None and u.eqn.primitive.name == "select_n" and u.position > 0 for u in uses)


def index_is_out_of_range(kernel: KernelView) -> Iterator[Finding]:
    """KT329. An index past the end of a Ref is not refused when traced; on a TPU it touches other memory."""
    seen: set[int] = set()
    for event in kernel.walk.events:
        for ref, view, starts in _touched(event) if id(event.eqn) not in seen else ():
            dims = [d for group in view.indexed or () for d in group]
            for axis, (dim, start) in enumerate(zip(dims, starts, strict=True)):
                bad = _outside(event, dim, start)
                if bad is not None and id(event.eqn) not in seen:
                    seen.add(id(event.eqn))
                    yield _past_the_end(kernel, event, ref, axis, dim, *bad)


def _touched(event: Event) -> Iterator[tuple[Var, View, tuple[Value, ...]]]:
    """The Refs that an equation touches, how, and where each index starts; the target of a copy before its source."""
    op = event.op
    if op is None or op.kind not in ("load", "store", "copy_start") or op.mask is not None:
        return
    if event.ref is not None and event.starts is not None and not op.remote:
        yield event.ref, op.view, event.starts
    if event.source is not None and op.source is not None and event.source_starts is not None:
        yield event.source, op.source, event.source_starts


def _past_the_end(kernel: KernelView, event: Event, ref: Var, axis: int, dim: Dim, row: int, first: int) -> Finding:
    last = first + ((dim.size or 1) - 1) * dim.stride
    span = f"Index {first} is" if dim.squeezed else f"Elements {first} to {last} are"
    when = "" if isinstance(dim.start, int) or len(kernel.walk.steps) == 1 else f" at {kernel.step(row)}"
    touched = {"get": "read", "masked_load": "read", "dma_start": "copied"}.get(event.name, "written")
    return kernel.say(
        "KT329",
        f"{span} {touched} here{when}, but dimension {axis} of {kernel.walk.name(ref)} has "
        f"{dim.extent} elements (0 to {dim.extent - 1}).",
        event=event,
        ref=ref,
        hint=f"Write {dim.extent + first}. Interpret mode counts a negative index from the end; a TPU goes to the "
        "memory before the Ref."
        if -dim.extent <= first < 0
        else "Interpret mode clamps the index and carries on; a TPU does not.",
    )


def _outside(event: Event, dim: Dim, start: Value) -> tuple[int, int] | None:
    """The first step whose access leaves the dimension, and where it starts.

    A computed negative index of a load is left alone: `ref[i - 1]` at step 0 is often thrown away by what follows."""
    if start is None or dim.size is None:
        return None
    first = np.asarray(start, np.int64)
    fixed = isinstance(dim.start, int | Constant)
    bad = first + (dim.size - 1) * dim.stride >= dim.extent
    if fixed or (event.op is not None and event.op.kind != "load"):
        bad = bad | (first < 0)
    if event.active is None or event.repeats:
        return (0, int(first)) if fixed and bad.any() and event.possible() else None
    hits = np.flatnonzero(np.broadcast_to(bad, event.active.shape) & event.active)
    return (int(hits[0]), int(np.broadcast_to(first, event.active.shape)[hits[0]])) if hits.size else None


def store_is_overwritten(kernel: KernelView) -> Iterator[Finding]:
    """KT341. Two whole stores to one Ref with nothing that reads it between: the first is work for nothing."""
    refs = kernel.parts.outputs + kernel.parts.scratch
    for ref in kernel.data_refs(*refs):
        for first, second in pairwise(kernel.walk.of(ref)):
            if first.block != second.block or not (_plain_store(first) and _plain_store(second)):
                continue
            assert first.op is not None and second.op is not None
            if second.op.view.whole or (first.starts == second.starts and first.op.view == second.op.view):
                line = f" on line {second.place.line}" if second.place else ""
                yield kernel.say(
                    "KT341",
                    f"This store to {kernel.walk.name(ref)} is overwritten{line} before anything reads it.",
                    severity="note",
                    event=first,
                    ref=ref,
                )
                break


def _plain_store(event: Event) -> bool:
    op = event.op
    return op is not None and op.kind == "store" and not op.add and op.mask is None and not event.result_used


def _writes(kernel: KernelView, ref: Var) -> list[Event]:
    return [e for e in kernel.walk.events if e.ref == ref and e.op is not None and e.op.kind in ("store", "copy_start")]


def _goes_elsewhere(event: Event) -> bool:
    """A remote copy names the local Ref, but writes on another device."""
    return event.op is not None and event.op.remote


RULES = (
    off_chip_ref_is_indexed,
    prefetch_ref_is_written,
    input_is_stored_to,
    output_is_never_stored,
    read_before_write,
    index_is_out_of_range,
    store_is_overwritten,
)
