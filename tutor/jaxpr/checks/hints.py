"""Promises to the compiler that can be checked, and notes on what costs speed or hides mistakes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tutor.jaxpr.checks.kernel import KernelView
from tutor.jaxpr.checks.walk import Event
from tutor.protocol import Finding

SUBLANES = 8


def interpret_is_baked_in(kernel: KernelView) -> Iterator[Finding]:
    """KT320. `interpret=` in the attempt is overruled by every judge; on a TPU it would hide the compiler."""
    if kernel.parts.interpret:
        yield kernel.say(
            "KT320",
            "This kernel passes interpret= itself. Every judge here overrules it; on a TPU it would run the "
            "interpreter "
            "instead of the compiled kernel.",
            severity="note",
            hint="Leave interpret= out.",
        )


def promise_is_false(kernel: KernelView) -> Iterator[Finding]:
    """KT321. `pl.multiple_of` is a promise that nobody checks; if it is false, the wrong elements are read."""
    seen: set[int] = set()
    for event in kernel.walk.events:
        if event.name != "multiple_of" or id(event.eqn) in seen or event.active is None or event.repeats:
            continue
        value = event.operands[0]
        for factor in _factors(event):
            if value is None:
                continue
            bad = np.flatnonzero(np.broadcast_to(value % factor != 0, event.active.shape) & event.active)
            if not bad.size:
                continue
            seen.add(id(event.eqn))
            found = int(np.broadcast_to(value, event.active.shape)[bad[0]])
            yield kernel.say(
                "KT321",
                f"Here {found} is promised to be a multiple of {factor}, at {kernel.step(int(bad[0]))}. It is not. The "
                "compiler trusts the promise and reads an aligned address, so other elements are read.",
                event=event,
                hint="Promise only what holds for every input, or load an aligned piece that contains the wanted one.",
            )
            break


def _factors(event: Event) -> tuple[int, ...]:
    values = event.eqn.params.get("values", ())
    return tuple(int(v) for v in (values if isinstance(values, tuple | list) else (values,)) if v)


def program_id_in_a_branch(kernel: KernelView) -> Iterator[Finding]:
    """KT338. Read `program_id` at the top of the kernel: plain interpret mode refuses it inside branches and loops."""
    for event in kernel.walk.events:
        if event.name == "program_id" and set(event.inside) & {"branch", "loop", "condition"}:
            yield kernel.say(
                "KT338",
                "program_id is read inside a branch or loop. The TPU compiler takes it; plain interpret mode "
                "refuses it. Here "
                "it is moved to the top for you.",
                severity="note",
                event=event,
                hint="i = pl.program_id(0) at the top of the kernel works everywhere.",
            )
            return


def block_is_smaller_than_a_tile(kernel: KernelView) -> Iterator[Finding]:
    """KT343. Narrow types are packed: a tile of bfloat16 has 16 rows, of int8 32. A smaller block wastes part of it."""
    for ref in kernel.data_refs(*kernel.parts.inputs, *kernel.parts.outputs):
        mapping = kernel.parts.mapping(ref)
        if mapping is None or mapping.space != "vmem" or len(mapping.sizes) < 2:
            continue
        itemsize = np.dtype(mapping.dtype).itemsize
        tile = SUBLANES * 4 // max(itemsize, 1)
        rows, whole = mapping.sizes[-2], mapping.array_shape[-2]
        if itemsize < 4 and rows % tile and rows < whole and mapping.block_shape[-2] is not None:
            yield kernel.say(
                "KT343",
                f"Blocks of {kernel.walk.name(ref)} have {rows} rows. A native tile of {mapping.dtype} has "
                f"{tile} rows, so "
                "tiles are only partly used and each step moves and computes less than it could.",
                severity="note",
                ref=ref,
                hint=f"Make the block a multiple of {tile} rows.",
            )


RULES = (interpret_is_baked_in, promise_is_false, program_id_in_a_branch, block_is_smaller_than_a_tile)
