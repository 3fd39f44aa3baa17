"""The quantities that a predict exercise asks for (FORMATS 1), worked out from the facts of the author's kernels."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from tutor.protocol import Access, AccessKind, CaseFacts, KernelFacts, Operand

type Value = int | bool | str | tuple[int, ...]
type Form = Literal["number", "truth", "index", "space"]

_FORMS: dict[str, Form] = {"block": "index", "refetched": "truth", "races": "truth", "space": "space"}
_PARTS = re.compile(r"(?P<what>\w+)(?:\.(?P<name>\w+))?(?:@(?P<step>\d+))?")


class Unanswerable(Exception):
    """The kernel has no such quantity, or data decides it: the question is at fault."""


class Quantity(NamedTuple):
    """A quantity, taken apart: `loads.x_ref`, `block.x_ref@3`, `copies`."""

    what: str
    name: str = ""
    step: int = 0

    @property
    def form(self) -> Form:
        """What kind of literal answers it."""
        return _FORMS.get(self.what, "number")


def read_quantity(text: str) -> Quantity:
    """The quantity that a manifest writes. It has been checked when the manifest was read."""
    match = _PARTS.fullmatch(text)
    if match is None:
        raise Unanswerable(f"{text} is no quantity")
    return Quantity(match["what"], match["name"] or "", int(match["step"] or 0))


def value_of(quantity: Quantity, facts: CaseFacts, *, races: bool | None = None) -> Value:
    """The right answer. `races` is what the simulator said. `Unanswerable` if there is none.

    `loads` and `stores` of a Ref are its accesses in one grid step with every branch taken; an accumulation is a store
    too, as in the exercise rules. `copies` and the bytes are those of the access table."""
    accesses = [access for kernel in facts.kernels for access in kernel.kernel.accesses]
    match quantity.what:
        case "loads":
            return _count(_of(quantity.name, accesses, facts), ("load",))
        case "stores":
            return _count(_of(quantity.name, accesses, facts), ("store", "accumulate"))
        case "vector_loads":
            return _count([access for access in accesses if access.space == "vmem"], ("load",))
        case "copies":
            return _sum([kernel.kernel.copies for kernel in facts.kernels])
        case "bytes_in":
            return _sum([kernel.kernel.bytes_in for kernel in facts.kernels])
        case "bytes_out":
            return _sum([kernel.kernel.bytes_out for kernel in facts.kernels])
        case "space":
            return _operand(quantity.name, facts).space
        case "line":
            return _line(quantity.name, accesses)
        case "block":
            return tuple(_walk(quantity, facts)[quantity.step])
        case "refetched":
            blocks = _walk(quantity, facts)
            return quantity.step == 0 or blocks[quantity.step] != blocks[quantity.step - 1]
        case "races":
            if races is None:
                raise Unanswerable("the simulator could not run the kernel")
            return races
    raise Unanswerable(f"{quantity.what} is no quantity")


def _of(ref: str, accesses: list[Access], facts: CaseFacts) -> list[Access]:
    """The accesses of one Ref, which must be there even if it has none."""
    if not any(access.ref == ref for access in accesses):
        _operand(ref, facts)
    return [access for access in accesses if access.ref == ref]


def _operand(name: str, facts: CaseFacts) -> Operand:
    operands = [operand for kernel in facts.kernels for operand in kernel.kernel.operands]
    for operand in operands:
        if operand.name == name:
            return operand
    raise Unanswerable(f"the kernel has no Ref {name}; it has {', '.join(o.name for o in operands)}")


def _count(accesses: list[Access], kinds: tuple[AccessKind, ...]) -> int:
    return _sum([access.per_step for access in accesses if access.kind in kinds])


def _sum(counts: Iterable[int | None]) -> int:
    total = 0
    for count in counts:
        if count is None:
            raise Unanswerable("data decides how often")
        total += count
    return total


def _line(kind: str, accesses: list[Access]) -> int:
    for access in accesses:
        if access.kind == kind and access.line is not None:
            return access.line
    raise Unanswerable(f"the kernel has no {kind}")


def _walk(quantity: Quantity, facts: CaseFacts) -> list[list[int]]:
    walks = [walk for kernel in facts.kernels for walk in kernel.walks if walk.operand == quantity.name]
    if not walks:
        _operand(quantity.name, facts)
        raise Unanswerable(f"{quantity.name} is not cut into blocks that can be worked out")
    if quantity.step >= len(walks[0].blocks):
        raise Unanswerable(f"there is no step {quantity.step}; the grid has {len(walks[0].blocks)} steps")
    return walks[0].blocks


def where_to_look(quantity: Quantity, facts: CaseFacts) -> str:
    """The place in the marked jaxpr that the answer can be read from, without the answer."""
    name = quantity.name
    match quantity.what:
        case "loads":
            return f"the lines marked L that read {name}, with the branches and loops round them"
        case "stores":
            return f"the lines marked S or A that write {name}, with the branches and loops round them"
        case "vector_loads":
            return "the lines marked L whose Ref is in VMEM; a load from SMEM is scalar work"
        case "copies":
            return "the lines marked C, with the branches and loops round them"
        case "bytes_in" | "bytes_out":
            return "the index maps: a block moves only when its index changes, and its shape and dtype give the bytes"
        case "space":
            return f"the first line of the kernel, where the type of {name} names its memory space"
        case "line":
            return f"the lines that are marked as {_KINDS.get(name, name)}, and then at the same place in kernels.py"
        case "block" | "refetched":
            grid = _grid_of(name, facts)
            words = f" (grid {grid}; the last axis runs fastest)" if grid else ""
            return f"the index map of {name}{words}"
    return "the accesses to the same memory, and what orders them: a wait, or one grid step after the other"


_KINDS = {
    "load": "loads (L)", "store": "stores (S)", "accumulate": "accumulations (A)", "copy_start": "copies (C)",
    "copy_wait": "waits (W)", "semaphore": "semaphore operations (#)",
}  # fmt: skip


def _grid_of(name: str, facts: CaseFacts) -> str:
    found: list[KernelFacts] = [k for k in facts.kernels if any(walk.operand == name for walk in k.walks)]
    return str(tuple(found[0].kernel.grid)) if found else ""
