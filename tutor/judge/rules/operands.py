"""What rules share: they find what an exercise names by the data flow that facts hold, not by a Ref's name."""

from __future__ import annotations

from collections.abc import Iterator

from tutor.protocol import CaseFacts, CaseSpec, KernelFacts, Operand


def operands_of(name: str, facts: CaseFacts, case: CaseSpec) -> Iterator[tuple[KernelFacts, Operand]]:
    """Every operand of every kernel that the exercise input or output `name` is."""
    outputs = [spec.name for spec in case.outputs]
    for kernel in facts.kernels:
        made = [operand for operand in kernel.kernel.operands if operand.role == "output"]
        for operand in kernel.kernel.operands:
            if operand.argument == name:
                yield kernel, operand
        for operand, entry_output in zip(made, kernel.output_arguments, strict=False):
            if entry_output is not None and entry_output < len(outputs) and outputs[entry_output] == name:
                yield kernel, operand


def discarded(kernel: KernelFacts, facts: CaseFacts, case: CaseSpec) -> list[Operand]:
    """The outputs of a kernel that nobody gets: memory of the kernel's own under another name.

    Only the last kernel is asked, for an earlier one may hand its outputs on, and only if each output of the exercise
    is known to come from a kernel: else the output may take part in what is worked out between."""
    reached = {flows for each in facts.kernels for flows in each.output_arguments if flows is not None}
    if not facts.kernels or kernel is not facts.kernels[-1] or not reached >= set(range(len(case.outputs))):
        return []
    made = [operand for operand in kernel.kernel.operands if operand.role == "output"]
    return [operand for operand, flows in zip(made, kernel.output_arguments, strict=False) if flows is None]


def times_of(count: int) -> str:
    """How often, in words."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")
