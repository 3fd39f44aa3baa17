"""The rules that an exercise may state (FORMATS 1, `[rules]`): one small function each, on the facts of one case.

A rule names exercise inputs and outputs, never the learner's parameter names: an operand is found by the data flow
that `argument` and `output_arguments` hold. The docstring of a rule is the line that a learner reads about it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from tutor.findings import finding
from tutor.protocol import (
    Access,
    Alias,
    CaseFacts,
    CaseSpec,
    Figures,
    Finding,
    KernelFacts,
    Operand,
    Rules,
    ScratchRule,
    Space,
)

SCRATCH = "scratch"
"""In `max_loads` and `max_stores`: every buffer of the kernel's own."""
WINDOW = ".window"
"""What `emit_pipeline` allocates is named after the array that it pipelines."""

BUFFERED = 4
"""Blocks of an operand that a kernel may hold in buffers of its own."""

Rule = Callable[[Rules, CaseFacts, CaseSpec, Figures | None], list[Finding]]


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


def right_space(rules: Rules, facts: CaseFacts, case: CaseSpec, reference: Figures | None) -> list[Finding]:
    """An operand is in the memory space that the exercise says."""
    findings = []
    for name, space in rules.space.items():
        for kernel, operand in _operands_of(name, facts, case):
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
    return findings


def right_alias(rules: Rules, facts: CaseFacts, case: CaseSpec, reference: Figures | None) -> list[Finding]:
    """The output shares its buffer with the array that the exercise names."""
    findings = []
    for wanted in rules.alias:
        sources = [alias.source for kernel in facts.kernels for alias in _aliases_to(wanted.to, kernel, case)]
        if facts.kernels and wanted.source not in sources:
            source = "an array made outside the kernel" if wanted.source == "fresh" else wanted.source
            got = f"it is aliased from {sources[0] or 'something else'}" if sources else "nothing is aliased onto it"
            message = f"{wanted.to} must share its buffer with {source}, through input_output_aliases; here {got}."
            hint = "The number on the left counts all operands of the call, scalar-prefetch operands too."
            findings.append(finding("KT307", message, line=facts.kernels[0].line, case=facts.case, hint=hint))
    return findings


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


def few_steps(rules: Rules, facts: CaseFacts, case: CaseSpec, reference: Figures | None) -> list[Finding]:
    """The grid has not many more steps than the reference's."""
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
    message = f"Your grid has {mine} steps, the reference's {theirs}; at most {rules.max_steps_ratio:g} times as many."
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


def small_blocks(rules: Rules, facts: CaseFacts, case: CaseSpec, reference: Figures | None) -> list[Finding]:
    """A block is no larger than the exercise says: the work is cut into pieces that fit the chip."""
    findings = []
    for name, written in rules.max_block.items():
        most = _elements(written, case)
        for kernel, operand in _operands_of(name, facts, case):
            whole = operand.block_shape is None and operand.space == "vmem"
            shape = operand.shape if whole else [n or 1 for n in operand.block_shape or []]
            if shape and math.prod(shape) > most:
                message = (
                    f"{name} reaches the kernel as {operand.name} in blocks of {_shape(shape)}, {math.prod(shape):,} "
                    f"elements; this exercise asks for blocks of at most {written}, here {most:,}."
                )
                hint = "Give it a BlockSpec with a smaller block shape, and a grid that covers the array."
                findings.append(
                    finding("KT315", message, line=kernel.line, ref=operand.name, case=facts.case, hint=hint)
                )
            findings += _large_copies(kernel, operand, name, most, facts.case)
            findings += _large_buffers(kernel, operand, name, most, facts.case)
    return findings


def _large_copies(kernel: KernelFacts, operand: Operand, name: str, most: int, case: str) -> list[Finding]:
    """Copies of the kernel's own that move more of an operand at once than a block may hold."""
    findings = []
    for copy in kernel.kernel.accesses:
        by_data = copy.bytes_per_step is None and copy.per_step is not None  # then `shape` is the whole extent
        moved = copy.kind == "copy_start" and operand.name in (copy.ref, copy.to)
        if moved and not by_data and math.prod(copy.shape) > most:
            message = (
                f"One copy moves {_shape(copy.shape)} of {name}, {math.prod(copy.shape):,} elements; this exercise "
                f"asks for pieces of at most {most:,}."
            )
            hint = "Copy one block at a time, or let a BlockSpec with that block shape do it."
            findings.append(
                finding("KT315", message, line=copy.line or kernel.line, ref=operand.name, case=case, hint=hint)
            )
    return findings


def _large_buffers(kernel: KernelFacts, operand: Operand, name: str, most: int, case: str) -> list[Finding]:
    """Buffers of the kernel's own in which copies gather an operand, until it is on the chip as a whole."""
    copied = [copy for copy in kernel.kernel.accesses if copy.kind == "copy_start"]
    ends = {copy.to for copy in copied if copy.ref == operand.name}
    ends |= {copy.ref for copy in copied if copy.to == operand.name}
    buffers = [other for other in kernel.kernel.operands if other.role == "scratch" and other.name in ends]
    held = sum(math.prod(other.shape) for other in buffers if not other.name.endswith(WINDOW))
    if held <= BUFFERED * most:
        return []
    message = (
        f"Copies gather {name} in {' and '.join(other.name for other in buffers)}, which hold {held:,} elements; this "
        f"exercise asks for pieces of at most {most:,}, and {BUFFERED} of them at a time are enough."
    )
    hint = "Keep as many pieces on the chip as are copied and worked on at the same time: two, mostly."
    line = copied[0].line or kernel.line
    return [finding("KT315", message, line=line, ref=operand.name, case=case, hint=hint)]


def fetched_once(rules: Rules, facts: CaseFacts, case: CaseSpec, reference: Figures | None) -> list[Finding]:
    """A block of this input is fetched once and reused: the grid does not come back to it."""
    findings = []
    for name in rules.fetch_once:
        for kernel, operand in _operands_of(name, facts, case):
            walk = next((walk for walk in kernel.walks if walk.operand == operand.name), None)
            blocks = [tuple(block) for block in walk.blocks] if walk else []
            fetches = sum(block != before for block, before in zip(blocks, [None, *blocks], strict=False))
            if fetches > len(set(blocks)):
                message = (
                    f"{operand.name} is fetched {_times(fetches)}, but there are only {len(set(blocks))} different "
                    "blocks of it: the grid leaves a block and comes back to it. A block stays on the chip only as "
                    "long as the steps that need it follow each other."
                )
                hint = "Make the axis that its index map ignores the last, innermost one."
                findings.append(
                    finding("KT316", message, line=kernel.line, ref=operand.name, case=facts.case, hint=hint)
                )
    return findings


RULES: tuple[Rule, ...] = (
    some_kernel,
    nothing_outside,
    nothing_forbidden,
    all_required,
    right_space,
    right_scratch,
    right_alias,
    few_loads,
    few_stores,
    enough_copies,
    right_dot,
    few_steps,
    few_bytes,
    small_blocks,
    fetched_once,
)


def _operands_of(name: str, facts: CaseFacts, case: CaseSpec) -> Iterator[tuple[KernelFacts, Operand]]:
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


def _aliases_to(name: str, kernel: KernelFacts, case: CaseSpec) -> list[Alias]:
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
    written = {"store", "accumulate", "copy_start"}
    return any("load" in kind and bool(written & kind) for kind in kinds.values())


def _few(kind: str, code: str, limits: dict[str, int], facts: CaseFacts, case: CaseSpec) -> list[Finding]:
    findings = []
    for name, limit in limits.items():
        for kernel in facts.kernels:
            refs = _refs_of(name, kernel, facts, case)
            found = [access for access in kernel.kernel.accesses if _touches(access, kind, refs)]
            # A pipeline inside the kernel turns for every block, so the accesses in its text count.
            times = [1 if access.ref.endswith(WINDOW) else access.per_step for access in found]
            count = _total(times)
            if count is None or count > limit:
                lines = sorted({access.line for access in found if access.line})
                often = "in a loop whose number of turns is not known" if count is None else _times(count)
                who = " and ".join(dict.fromkeys(access.ref for access in found))
                message = (
                    f"{who} {'is' if ' and ' not in who else 'are'} {kind}{'ed' if kind == 'load' else 'd'} {often} in "
                    f"a grid step (lines {', '.join(map(str, lines))}); "
                    f"{f'{_times(limit)} is enough' if limit else 'here that is not needed at all'}."
                )
                line = lines[-1] if lines else kernel.line
                findings.append(finding(code, message, line=line, ref=found[-1].ref, case=facts.case))
    return findings


def _refs_of(name: str, kernel: KernelFacts, facts: CaseFacts, case: CaseSpec) -> dict[str, Space]:
    """The Refs of one kernel that an exercise means by a name, with their spaces; an array may be given twice.

    `scratch` are all buffers of the kernel's own, but not the windows of a pipeline inside it."""
    if name == SCRATCH and name not in (spec.name for spec in (*case.inputs, *case.outputs)):
        return {
            operand.name: operand.space
            for operand in kernel.kernel.operands
            if operand.role == "scratch" and not operand.name.endswith(WINDOW)
        }
    mine: dict[str, Space] = {
        operand.name: operand.space for other, operand in _operands_of(name, facts, case) if other is kernel
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


def _elements(written: int | str, case: CaseSpec) -> int:
    """A number, the name of a size or keyword argument, or a product of them."""
    known = {**case.sizes, **case.static}
    return math.prod(int(known.get(part.strip(), 0) or part) for part in str(written).split("*"))


def _shape(shape: list[int]) -> str:
    return f"({', '.join(map(str, shape))})"


def _total(counts: list[int | None]) -> int | None:
    return None if any(count is None for count in counts) else sum(count or 0 for count in counts)


def _spelled(space: str) -> str:
    return {"any": "pl.ANY", "hbm": "pltpu.HBM", "smem": "pltpu.SMEM", "vmem": "pltpu.VMEM"}.get(space, space)


def _many(count: int, noun: str) -> str:
    return f"one {noun}" if count == 1 else f"{count} {noun}s"


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")
