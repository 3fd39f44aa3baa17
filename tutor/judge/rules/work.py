"""Rules on what is computed, and where: in kernels, with which operations."""

from __future__ import annotations

from tutor.findings import finding
from tutor.protocol import CaseFacts, CaseSpec, Figures, Finding, Rules


def some_kernel(rules: Rules, facts: CaseFacts, case: CaseSpec, reference: Figures | None) -> list[Finding]:
    """The work is done in Pallas kernels, in as many as the exercise says."""
    count = len(facts.kernels)
    if count == 0:
        return calls_a_kernel(facts)
    if rules.kernels is None or count == rules.kernels:
        return []
    message = f"This exercise is done with {_many(rules.kernels, 'kernel')}; your function calls {count}."
    return [finding("KT301", message, line=facts.kernels[-1].line, case=facts.case)]


def calls_a_kernel(facts: CaseFacts) -> list[Finding]:
    """KT111 if there is no kernel at all: then there is nothing to judge, in an exercise or without one."""
    if facts.kernels:
        return []
    message = "Your function calls no Pallas kernel: nothing in it runs through pl.pallas_call or pl.kernel."
    hint = "Do the work in a kernel, and call it with pl.pallas_call."
    return [finding("KT111", message, case=facts.case, hint=hint)]


def nothing_outside(rules: Rules, facts: CaseFacts, case: CaseSpec, reference: Figures | None) -> list[Finding]:
    """Outside the kernel only layout and dtype changes are allowed, unless the exercise allows more."""
    findings = []
    for primitive in facts.outside:
        if primitive.name not in rules.outside:
            message = (
                f"`{primitive.name}` runs outside the kernel. Outside it only the layout or the dtype of arrays may "
                "change: the work belongs in the kernel."
            )
            findings.append(finding("KT302", message, line=primitive.line, case=facts.case))
    return findings


def nothing_forbidden(rules: Rules, facts: CaseFacts, case: CaseSpec, reference: Figures | None) -> list[Finding]:
    """Some operations would take the point out of an exercise; it says which."""
    return [
        finding("KT303", f"`{found.name}` is not allowed in this kernel.", line=found.line, case=facts.case)
        for kernel in facts.kernels
        for found in kernel.inside
        if found.name in rules.forbid
    ]


def all_required(rules: Rules, facts: CaseFacts, case: CaseSpec, reference: Figures | None) -> list[Finding]:
    """Some exercises are about one operation, and it must be there."""
    inside = {found.name for kernel in facts.kernels for found in kernel.inside}
    return [
        finding("KT304", f"The kernel has no `{name}`, which this exercise is about.", case=facts.case)
        for name in rules.require
        if facts.kernels and name not in inside
    ]


def right_dot(rules: Rules, facts: CaseFacts, case: CaseSpec, reference: Figures | None) -> list[Finding]:
    """Products are accumulated in the dtype that the exercise says."""
    if rules.dot_dtype is None:
        return []
    return [
        finding(
            "KT311",
            f"This product is rounded to {dot.result_dtype}; it must come out in {rules.dot_dtype}.",
            line=dot.line,
            case=facts.case,
            hint=f"Pass preferred_element_type=jnp.{rules.dot_dtype}.",
        )
        for kernel in facts.kernels
        for dot in kernel.dots
        if dot.result_dtype != rules.dot_dtype
    ]


def _many(count: int, noun: str) -> str:
    return f"one {noun}" if count == 1 else f"{count} {noun}s"
