"""Rules on where arrays are: memory spaces, scratch, shared buffers, and blocks that fit the chip."""

from __future__ import annotations

import math

from tutor.findings import finding
from tutor.judge.rules.operands import discarded, operands_of
from tutor.protocol import Alias, CaseFacts, CaseSpec, Figures, Finding, KernelFacts, Operand, Rules, ScratchRule
from tutor.protocol.facts import WINDOW

ON_CHIP = ("vmem", "smem")
WRITTEN = {"store", "accumulate", "copy_start"}

BUFFERED = 4
"""Blocks of an operand that a kernel may hold in buffers of its own."""


def right_space(rules: Rules, facts: CaseFacts, case: CaseSpec, reference: Figures | None) -> list[Finding]:
    """An operand is in the memory space that the exercise says."""
    findings = []
    for name, space in rules.space.items():
        for kernel, operand in operands_of(name, facts, case):
            allowed = ("any", "hbm") if space == "any" else (space,)
            if operand.space not in allowed:
                message = (
                    f"{name} reaches the kernel as {operand.name} in {operand.space.upper()}; "
                    f"this exercise keeps it in {space.upper()}."
                )
                hint = f"Give it a BlockSpec(memory_space={_spelled(space)})."
                findings.append(
                    finding("KT305", message, line=kernel.line, ref=operand.name, case=facts.case, hint=hint)
                )
    return findings


def right_scratch(rules: Rules, facts: CaseFacts, case: CaseSpec, reference: Figures | None) -> list[Finding]:
    """Some kernel has the scratch that the exercise asks for, and uses it."""
    findings = []
    for wanted in rules.scratch:
        if facts.kernels and not any(_has_scratch(kernel, wanted, case) for kernel in facts.kernels):
            had = [
                f"{operand.dtype}{operand.shape} in {operand.space.upper()}"
                for kernel in facts.kernels
                for operand in kernel.kernel.operands
                if operand.role == "scratch" and operand.space != "semaphore"
            ]
            shape = f" of shape {list(wanted.shape)}" if wanted.shape is not None else ""
            message = (
                f"This exercise works with a {wanted.dtype} scratch in {wanted.space.upper()}{shape} that the kernel "
                f"both writes and reads. Yours has {', '.join(had) if had else 'no scratch'}."
            )
            findings.append(finding("KT306", message, line=facts.kernels[0].line, case=facts.case))
        else:
            findings += _in_its_place(wanted, facts, case)
    return findings


def _in_its_place(wanted: ScratchRule, facts: CaseFacts, case: CaseSpec) -> list[Finding]:
    """Outputs that nobody gets and that do the work of the scratch, which is then there for show."""
    return [
        finding(
            "KT306",
            f"{output.name} is an output that your function throws away. The kernel writes and reads it, so it does "
            f"the work of the {wanted.dtype} scratch that this exercise is about.",
            line=kernel.line,
            ref=output.name,
            case=facts.case,
            hint="Keep the value in a buffer of scratch_shapes, and let the kernel have no output that nobody needs.",
        )
        for kernel in facts.kernels
        for output in discarded(kernel, facts, case)
        if (output.space, output.dtype) == (wanted.space, wanted.dtype) and _works_with(kernel, output.name)
    ]


def right_alias(rules: Rules, facts: CaseFacts, case: CaseSpec, reference: Figures | None) -> list[Finding]:
    """The output shares its buffer with the array that the exercise names."""
    findings = []
    for wanted in rules.alias:
        sources = [alias.source for kernel in facts.kernels for alias in aliases_to(wanted.to, kernel, case)]
        if facts.kernels and wanted.source not in sources:
            source = "an array made outside the kernel" if wanted.source == "fresh" else wanted.source
            got = f"it is aliased from {sources[0] or 'something else'}" if sources else "nothing is aliased onto it"
            message = f"{wanted.to} must share its buffer with {source}, through input_output_aliases; here {got}."
            hint = "The number on the left counts all operands of the call, scalar-prefetch operands too."
            findings.append(finding("KT307", message, line=facts.kernels[0].line, case=facts.case, hint=hint))
    return findings


def small_blocks(rules: Rules, facts: CaseFacts, case: CaseSpec, reference: Figures | None) -> list[Finding]:
    """A block is no larger than the exercise says: the work is cut into pieces that fit the chip."""
    findings = []
    for name, written in rules.max_block.items():
        most = _elements(written, case)
        for kernel, operand in operands_of(name, facts, case):
            whole = operand.block_shape is None and operand.space == "vmem"
            shape = operand.shape if whole else [n or 1 for n in operand.block_shape or []]
            if shape and math.prod(shape) > most:
                message = (
                    f"{name} reaches the kernel as {operand.name} in blocks of {shape_of(shape)}, {math.prod(shape):,} "
                    f"elements; this exercise asks for blocks of at most {written}, here {most:,}."
                )
                hint = "Give it a BlockSpec with a smaller block shape, and a grid that covers the array."
                findings.append(
                    finding("KT315", message, line=kernel.line, ref=operand.name, case=facts.case, hint=hint)
                )
            findings += _large_copies(kernel, operand, name, most, facts.case)
            own = [other for other in kernel.kernel.operands if other.role == "scratch"]
            own += [other for other in discarded(kernel, facts, case) if other.space in ON_CHIP]
            findings += _large_buffers(kernel, operand, own, name, most, facts.case)
    return findings


def _large_copies(kernel: KernelFacts, operand: Operand, name: str, most: int, case: str) -> list[Finding]:
    """Copies of the kernel's own that move more of an operand at once than a block may hold."""
    findings = []
    for copy in kernel.kernel.accesses:
        by_data = copy.bytes_per_step is None and copy.per_step is not None  # then `shape` is the whole extent
        moved = copy.kind == "copy_start" and operand.name in (copy.ref, copy.to)
        if moved and not by_data and math.prod(copy.shape) > most:
            message = (
                f"One copy moves {shape_of(copy.shape)} of {name}, {math.prod(copy.shape):,} elements; this exercise "
                f"asks for pieces of at most {most:,}."
            )
            hint = "Copy one block at a time, or let a BlockSpec with that block shape do it."
            findings.append(
                finding("KT315", message, line=copy.line or kernel.line, ref=operand.name, case=case, hint=hint)
            )
    return findings


def _large_buffers(
    kernel: KernelFacts, operand: Operand, own: list[Operand], name: str, most: int, case: str
) -> list[Finding]:
    """Buffers of the kernel's own in which copies gather an operand, until it is on the chip as a whole."""
    copied = [copy for copy in kernel.kernel.accesses if copy.kind == "copy_start"]
    ends = {copy.to for copy in copied if copy.ref == operand.name}
    ends |= {copy.ref for copy in copied if copy.to == operand.name}
    buffers = [other for other in own if other.name in ends]
    held = sum(math.prod(_held(other)) for other in buffers if not other.name.endswith(WINDOW))
    if held <= BUFFERED * most:
        return []
    message = (
        f"Copies gather {name} in {' and '.join(other.name for other in buffers)}, which hold {held:,} elements; this "
        f"exercise asks for pieces of at most {most:,}, and {BUFFERED} of them at a time are enough."
    )
    hint = "Keep as many pieces on the chip as are copied and worked on at the same time: two, mostly."
    line = copied[0].line or kernel.line
    return [finding("KT315", message, line=line, ref=operand.name, case=case, hint=hint)]


def _held(operand: Operand) -> list[int]:
    """What of an operand is on the chip at a time."""
    return operand.shape if operand.block_shape is None else [n or 1 for n in operand.block_shape]


def aliases_to(name: str, kernel: KernelFacts, case: CaseSpec) -> list[Alias]:
    outputs = [spec.name for spec in case.outputs]
    return [
        alias
        for alias in kernel.aliases
        if alias.output < len(kernel.output_arguments)
        and (flows := kernel.output_arguments[alias.output]) is not None
        and flows < len(outputs)
        and outputs[flows] == name
    ]


def _has_scratch(kernel: KernelFacts, wanted: ScratchRule, case: CaseSpec) -> bool:
    """A buffer of the kernel's own (a scratch operand or one of `run_scoped`) that is both written and read."""
    given = {operand.name for operand in kernel.kernel.operands if operand.role != "scratch"}
    shapes = {operand.name: operand.shape for operand in kernel.kernel.operands}
    shape = None if wanted.shape is None else [case.sizes.get(d, d) if isinstance(d, str) else d for d in wanted.shape]
    kinds: dict[str, set[str]] = {}
    for access in kernel.kernel.accesses:
        same = (access.space, access.dtype) == (wanted.space, wanted.dtype)
        if same and access.ref not in given and (shape is None or shapes.get(access.ref) == shape):
            kinds.setdefault(access.ref, set()).add(access.kind)
    return any("load" in kind and bool(WRITTEN & kind) for kind in kinds.values())


def _works_with(kernel: KernelFacts, ref: str) -> bool:
    """Whether the kernel both writes a Ref and reads it."""
    kinds = {access.kind for access in kernel.kernel.accesses if access.ref == ref}
    filled = any(access.kind == "copy_start" and access.to == ref for access in kernel.kernel.accesses)
    return bool({"load", "copy_start"} & kinds) and (filled or bool({"store", "accumulate"} & kinds))


def _elements(written: int | str, case: CaseSpec) -> int:
    """A number, the name of a size or keyword argument, or a product of them."""
    known = {**case.sizes, **case.static}
    return math.prod(int(known.get(part.strip(), 0) or part) for part in str(written).split("*"))


def shape_of(shape: list[int]) -> str:
    return f"({', '.join(map(str, shape))})"


def _spelled(space: str) -> str:
    return {"any": "pl.ANY", "hbm": "pltpu.HBM", "smem": "pltpu.SMEM", "vmem": "pltpu.VMEM"}.get(space, space)
