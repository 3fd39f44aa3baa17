"""The simulator calls buffers and semaphores by number. This says which ref each number is.

It numbers buffers from 100 in this order: inputs in HBM, outputs in HBM (unless they alias an input), scalar-prefetch
operands, and then whatever each ref of the kernel has on the chip. Semaphores are numbered from 2000 in the order of
the kernel's refs. What `run_scoped` allocates comes later and has no name here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from tutor.protocol import Operand

FIRST_BUFFER, FIRST_SEMAPHORE = 100, 2000


@dataclass(frozen=True)
class Names:
    """Names by number. `outputs` are the output refs in order; `spaces` and `shapes` are by ref name."""

    buffers: dict[int, str] = field(default_factory=dict)
    semaphores: dict[int, str] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    spaces: dict[str, str] = field(default_factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)


NO_NAMES = Names()


def names_of(kernels: Sequence[Sequence[Operand]]) -> Names:
    """The names that hold for every kernel of a program, given the operands of each: each starts to count anew."""
    if not kernels:
        return NO_NAMES
    each = [_kernel(operands) for operands in kernels]
    first, *others = each
    return Names(
        {n: name for n, name in first.buffers.items() if all(o.buffers.get(n) == name for o in others)},
        {n: name for n, name in first.semaphores.items() if all(o.semaphores.get(n) == name for o in others)},
        first.outputs if all(o.outputs == first.outputs for o in others) else (),
        first.spaces,
        first.shapes,
    )


def _kernel(operands: Sequence[Operand]) -> Names:
    buffers: dict[int, str] = {}
    semaphores: dict[int, str] = {}
    of = {role: [o for o in operands if o.role == role] for role in ("prefetch", "input", "output", "scratch")}
    shared = {o.alias for o in of["input"] if o.alias is not None}
    in_hbm = [*of["input"], *(o for i, o in enumerate(of["output"]) if i not in shared), *of["prefetch"]]
    for operand in in_hbm:
        buffers[FIRST_BUFFER + len(buffers)] = operand.name
    count = 0
    for operand in (*of["input"], *of["output"], *of["scratch"]):
        if operand.space == "semaphore":
            for index in range(math.prod(operand.shape)):
                label = f"{operand.name}[{', '.join(map(str, _unravel(index, operand.shape)))}]"
                semaphores[FIRST_SEMAPHORE + count] = label if operand.shape else operand.name
                count += 1
        elif operand.space not in ("any", "hbm"):
            buffers[FIRST_BUFFER + len(buffers)] = operand.name
    return Names(
        buffers,
        semaphores,
        tuple(o.name for o in of["output"]),
        {o.name: o.space for o in operands},
        {o.name: tuple(o.shape) for o in operands},
    )


def _unravel(index: int, shape: Sequence[int]) -> list[int]:
    out: list[int] = []
    for size in reversed(shape):
        index, rest = divmod(index, size)
        out.append(rest)
    return out[::-1]
