"""Rules on what moves how often: loads, stores, copies, grid steps and bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tutor.findings import finding
from tutor.judge.rules.operands import discarded, operands_of, times_of
from tutor.protocol import Access, CaseFacts, CaseSpec, Figures, Finding, KernelFacts, Operand, Rules, Space
from tutor.protocol.facts import WINDOW

SCRATCH = "scratch"
"""In `max_loads` and `max_stores`: every buffer of the kernel's own."""


def few_loads(rules: Rules, facts: CaseFacts, case: CaseSpec, reference: Figures | None) -> list[Finding]:
    """A ref is loaded at most as often as the exercise says, in one grid step."""
    return _few("load", "KT308", rules.max_loads, facts, case)


def few_stores(rules: Rules, facts: CaseFacts, case: CaseSpec, reference: Figures | None) -> list[Finding]:
    """A ref is stored at most as often as the exercise says, in one grid step."""
    return _few("store", "KT309", rules.max_stores, facts, case)


def enough_copies(rules: Rules, facts: CaseFacts, case: CaseSpec, reference: Figures | None) -> list[Finding]:
    """The kernel starts its own copies between HBM and VMEM."""
    if rules.min_copies is None or not facts.kernels:
        return []
    starts = [access for kernel in facts.kernels for access in kernel.kernel.accesses if access.kind == "copy_start"]
    if any(access.per_step is None for access in starts):
        return []  # a loop over data: it copies at least once, and how often is judged on the hazards run
    count = sum(access.per_step or 0 for access in starts)
    if count >= rules.min_copies:
        return []
    message = f"This kernel must start at least {rules.min_copies} copies of its own in a grid step; it starts {count}."
    return [finding("KT310", message, line=facts.kernels[0].line, case=facts.case)]


def few_steps(rules: Rules, facts: CaseFacts, case: CaseSpec, reference: Figures | None) -> list[Finding]:
    """The grid, with the pipelines inside the kernel, has not many more steps than the reference's."""
    mine, theirs = facts.figures.steps, reference.steps if reference else None
    if rules.max_steps_ratio is None or not theirs or not facts.kernels:
        return []
    if mine is None:
        message = (
            "How many steps your grid has cannot be counted: one of its bounds is computed. Here they are compared "
            f"with the reference's {theirs}."
        )
        hint = "Let the grid be made of numbers that follow from shapes."
        return [finding("KT312", message, line=facts.kernels[0].line, case=facts.case, hint=hint)]
    if mine <= rules.max_steps_ratio * theirs:
        return []
    inside = mine != sum(kernel.steps or 0 for kernel in facts.kernels)
    message = (
        f"Your grid has {mine} steps{', those of the pipeline inside the kernel among them' if inside else ''}, the "
        f"reference's {theirs}; at most {rules.max_steps_ratio:g} times as many."
    )
    return [finding("KT312", message, line=facts.kernels[0].line, case=facts.case)]


def few_bytes(rules: Rules, facts: CaseFacts, case: CaseSpec, reference: Figures | None) -> list[Finding]:
    """Not many more bytes move between HBM and VMEM than in the reference."""
    mine, theirs = facts.figures.bytes, reference.bytes if reference else None
    if rules.max_bytes_ratio is None or not theirs or not facts.kernels:
        return []
    if mine is None:
        message = (
            "How many bytes your kernel moves cannot be counted: something that is computed in it decides whether or "
            "how often a copy runs. Here they are compared with the reference's."
        )
        hint = "Let integers in SMEM, program_id and constants decide; they are known before the kernel runs."
        return [finding("KT313", message, line=facts.kernels[0].line, case=facts.case, hint=hint)]
    if mine <= rules.max_bytes_ratio * theirs:
        return []
    message = (
        f"Your kernel moves {mine:,} bytes between HBM and VMEM, the reference {theirs:,}; "
        f"at most {rules.max_bytes_ratio:g} times as many."
    )
    return [finding("KT313", message, line=facts.kernels[0].line, case=facts.case)]


def fetched_once(rules: Rules, facts: CaseFacts, case: CaseSpec, reference: Figures | None) -> list[Finding]:
    """A block of this input is fetched once and reused: the grid does not come back to it."""
    findings = []
    for name in rules.fetch_once:
        for kernel, operand in operands_of(name, facts, case):
            findings += _left_and_fetched_again(kernel, operand, facts.case)
            findings += _copied_again(kernel, operand, facts.case)
    return findings


def _left_and_fetched_again(kernel: KernelFacts, operand: Operand, case: str) -> list[Finding]:
    moved = next((staged for staged in kernel.staged if staged.operand == operand.name), None)
    if moved is None or moved.moves <= moved.least_moves:
        return []
    message = (
        f"{operand.name} is fetched {times_of(moved.moves)}, but there are only {moved.least_moves} different blocks "
        "of it: the grid leaves a block and comes back to it. A block stays on the chip only as long as the steps "
        "that need it follow each other."
    )
    hint = "Make the axis that its index map ignores the last, innermost one."
    return [finding("KT316", message, line=kernel.line, ref=operand.name, case=case, hint=hint)]


def _copied_again(kernel: KernelFacts, operand: Operand, case: str) -> list[Finding]:
    """Copies of the kernel's own that bring more bytes of an operand than it has."""
    copies = [copy for copy in _from_hbm(kernel) if copy.ref == operand.name]
    first = next((copy for copy in copies if copy.per_step and copy.bytes_per_step), None)
    brought = _least_copied(kernel, operand.name)
    if first is None or brought is None:
        return []
    item = (first.bytes_per_step or 0) / ((first.per_step or 1) * math.prod(first.shape))
    has = math.ceil(item * math.prod(operand.shape))
    if brought <= has:
        return []
    message = (
        f"Copies of the kernel's own bring {brought:,} bytes of {operand.name} over the whole grid, but it has only "
        f"{has:,}: what was on the chip already is copied again."
    )
    hint = "Copy a piece when the grid first needs it, and order the grid so that all steps that need it follow."
    return [finding("KT316", message, line=first.line or kernel.line, ref=operand.name, case=case, hint=hint)]


def _least_copied(kernel: KernelFacts, ref: str) -> int | None:
    """How many bytes of a Ref are copied from HBM over the whole grid, at least; None where nothing can be said.

    Copies in no branch run in each step. How often the others run only the kernel's bytes tell, which are those of all
    operands: what pipelined blocks move is taken off, and what other Refs can have moved at most."""
    if kernel.steps is None:
        return None
    always = [copy.bytes_per_step or 0 for copy in _from_hbm(kernel) if copy.ref == ref and not copy.branch]
    others = _total([copy.bytes_per_step for copy in _from_hbm(kernel) if copy.ref != ref])
    least = kernel.steps * sum(always)
    if kernel.kernel.bytes_in is None or others is None:
        return least
    inputs = {operand.name for operand in kernel.kernel.operands if operand.role != "output"}
    blocks = sum(staged.bytes for staged in kernel.staged if staged.operand in inputs)
    return max(least, kernel.kernel.bytes_in - blocks - kernel.steps * others)


def _from_hbm(kernel: KernelFacts) -> list[Access]:
    return [copy for copy in kernel.kernel.accesses if copy.kind == "copy_start" and copy.space in ("any", "hbm")]


def _few(kind: str, code: str, limits: dict[str, int], facts: CaseFacts, case: CaseSpec) -> list[Finding]:
    findings = []
    for name, limit in limits.items():
        for kernel in facts.kernels:
            refs = refs_of(name, kernel, facts, case)
            found = [access for access in kernel.kernel.accesses if _touches(access, kind, refs)]
            # A pipeline inside the kernel turns for every block, so the accesses in its text count.
            times = [1 if access.ref.endswith(WINDOW) else access.per_step for access in found]
            count = _total(times)
            if count is None or count > limit:
                lines = sorted({access.line for access in found if access.line})
                often = "in a loop whose number of turns is not known" if count is None else times_of(count)
                who = " and ".join(dict.fromkeys(access.ref for access in found))
                message = (
                    f"{who} {'is' if ' and ' not in who else 'are'} {kind}{'ed' if kind == 'load' else 'd'} {often} in "
                    f"a grid step ({_lines(lines)}); "
                    f"{f'{times_of(limit)} is enough' if limit else 'here that is not needed at all'}."
                )
                line = lines[-1] if lines else kernel.line
                findings.append(finding(code, message, line=line, ref=found[-1].ref, case=facts.case))
    return findings


def _lines(lines: Sequence[int]) -> str:
    return f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}"


def refs_of(name: str, kernel: KernelFacts, facts: CaseFacts, case: CaseSpec) -> dict[str, Space]:
    """The Refs of one kernel that an exercise means by a name, with their spaces; an array may be given twice.

    `scratch` are all buffers of the kernel's own, outputs that nobody gets among them, but not the windows of a
    pipeline inside it."""
    if name == SCRATCH and name not in (spec.name for spec in (*case.inputs, *case.outputs)):
        scratch = [operand for operand in kernel.kernel.operands if operand.role == "scratch"]
        own = [*scratch, *discarded(kernel, facts, case)]
        return {operand.name: operand.space for operand in own if not operand.name.endswith(WINDOW)}
    mine: dict[str, Space] = {
        operand.name: operand.space for other, operand in operands_of(name, facts, case) if other is kernel
    }
    mine.update({f"{ref}{WINDOW}": "vmem" for ref in mine})
    return mine


def _touches(access: Access, kind: str, refs: dict[str, Space]) -> bool:
    """Whether an access is such a load or store. A copy out of a block that is on the chip already reads it too."""
    if access.ref not in refs:
        return False
    if kind == "load":
        copied = access.kind == "copy_start" and refs[access.ref] in ("vmem", "smem") and WINDOW not in access.ref
        return access.kind == "load" or copied
    return access.kind in ("store", "accumulate")


def _total(counts: list[int | None]) -> int | None:
    return None if any(count is None for count in counts) else sum(count or 0 for count in counts)
