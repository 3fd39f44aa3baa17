"""What interpret mode and the simulator cannot run, through no fault of the kernel."""

from __future__ import annotations

import re

from tutor.jaxpr import compat
from tutor.jaxpr.equations import bodies
from tutor.jaxpr.kernels import KERNEL_PRIMITIVES, KernelParts, kernel_parts
from tutor.jaxpr.rebind import kernels
from tutor.stage.explain.table import first_line
from tutor.stage.explain.where import chain

ONLY_ON_TPU = {
    "prng_seed": "TPU random bits",
    "prng_random_bits": "TPU random bits",
    "prng_set_seed": "TPU random bits",
    "get_barrier_semaphore": "barrier between devices",
}
"""Primitives that plain interpret mode has no meaning for."""


def cpu_cannot_run(jaxpr: compat.Jaxpr) -> str | None:
    """Why interpret mode cannot run this program through no fault of it; None if it can."""
    for eqn in compat.closed(jaxpr).eqns:
        name = eqn.primitive.name
        if name in ONLY_ON_TPU:
            return f"interpret mode has no {ONLY_ON_TPU[name]} (`{name}`)"
        if name == "dma_start" and compat.is_remote_copy(eqn):
            return "interpret mode has no copies to another device"
        inner = [body.jaxpr for body in bodies(eqn)]
        if name in KERNEL_PRIMITIVES:
            inner += [parts.jaxpr for parts in kernel_parts(eqn)]
        for body in inner:
            if cannot := cpu_cannot_run(body):
                return cannot
    return None


def alias_over_the_edge(jaxpr: compat.Jaxpr) -> str | None:
    """The first output that aliases an input and whose last block reaches past the array. A TPU leaves the rest out;
    interpret mode and the simulator pad one of the two buffers and not the other, and then refuse."""
    found = (_over_the_edge(parts) for kernel in kernels(jaxpr) for parts in kernel_parts(kernel.eqn))
    return next(filter(None, found), None)


def _over_the_edge(parts: KernelParts) -> str | None:
    for position in parts.aliases.values():
        ref = parts.outputs[position]
        mapping = parts.mapping(ref)
        if mapping is None or mapping.space not in ("vmem", "smem"):
            continue
        if any(length % size for length, size in zip(mapping.array_shape, mapping.sizes, strict=True)):
            return parts.names[ref]
    return None


def refused_for_alias(error: BaseException, jaxpr: compat.Jaxpr) -> str | None:
    """Why a run of either stopped, if it is for an aliased output over the edge; else None."""
    text = "\n".join(str(link) for link in chain(error))
    known = "while_loop body function carry" in text or "doesn't match function result type" in text
    if not known and not _begins_inside(text):
        return None
    name = alias_over_the_edge(jaxpr)
    return name and (
        f"`{name}` aliases an input, and its last block reaches over the edge of the array. A TPU does that; "
        "interpret mode and the simulator cannot"
    )


def not_for_interpret(error: BaseException, jaxpr: compat.Jaxpr) -> str | None:
    """Why interpret mode stopped, if it says itself that it cannot do such a thing; else None."""
    if (cannot := refused_for_alias(error, jaxpr)) is not None:
        return cannot
    if not isinstance(error, NotImplementedError):
        return None
    return f"interpret mode cannot run this kernel: {first_line(str(error))}"


def _begins_inside(text: str) -> bool:
    """Whether the simulator says that a block is outside although it begins inside the array."""
    said = re.search(r"Out-of-bounds block index .* for output .*: reading \[(.*)\] but .* has shape \((.*)\)", text)
    if said is None:
        return False
    begins = [int(n) for n in re.findall(r"slice\((-?\d+),", said[1])]
    lengths = [int(n) for n in re.findall(r"\d+", said[2])]
    return len(begins) == len(lengths) and all(0 <= b < n for b, n in zip(begins, lengths, strict=True))
