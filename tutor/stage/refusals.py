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
            kernel = kernel_parts(eqn)
            if any(set(parts.prefetch) & compat.written(parts.jaxpr) for parts in kernel):
                return "interpret mode forgets from step to step what is written to a scalar-prefetch Ref"
            inner += [parts.jaxpr for parts in kernel]
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


def simulator_refused(error: BaseException, jaxpr: compat.Jaxpr) -> str | None:
    """Why the simulator stopped, if it is for something that a TPU does; else None."""
    return refused_for_alias(error, jaxpr) or _refused_for_padding(error, jaxpr)


def _refused_for_padding(error: BaseException, jaxpr: compat.Jaxpr) -> str | None:
    """The simulator looks for a window of `pl.Element(size, padding)` in the array as it is without padding."""
    said = re.search(_OUTSIDE, "\n".join(str(link) for link in chain(error)))
    every = [parts for kernel in kernels(jaxpr) for parts in kernel_parts(kernel.eqn)]
    padded = {n for parts in every for ref, n in parts.names.items() if (m := parts.mapping(ref)) and m.padded}
    if said is None or said["name"] not in padded:
        return None
    return f"the blocks of `{said['name']}` are windows with padding (`pl.Element`), which the simulator does not know"


def interpret_refused(error: BaseException, jaxpr: compat.Jaxpr) -> str:
    """Why interpret mode stopped before it could run anything. What was traced is a kernel: where `lower` takes it,
    the refusal is interpret mode's own, and where it does not, `lower` says what is wrong."""
    cannot = refused_for_alias(error, jaxpr)
    return cannot or f"interpret mode cannot run this kernel: {type(error).__name__}: {first_line(str(error))}"


def _begins_inside(text: str) -> bool:
    """Whether the simulator says that a block is outside although it begins inside the array."""
    said = re.search(_OUTSIDE, text)
    if said is None or said["side"] != "output":
        return False
    begins = [int(n) for n in re.findall(r"slice\((-?\d+),", said["range"])]
    lengths = [int(n) for n in re.findall(r"\d+", said["shape"])]
    return len(begins) == len(lengths) and all(0 <= b < n for b, n in zip(begins, lengths, strict=True))


_OUTSIDE = (
    r"Out-of-bounds block index .* for (?P<side>\w+) \"?(?P<name>\w*).*: reading \[(?P<range>.*)\] "
    r"but .* has shape \((?P<shape>.*)\)"
)
"""What the simulator says of a block that is not inside its array."""
