"""The second witness: what the stager said of its kernels, against the TPU artifact that it made.

The facts come from the process that ran the learner's Python, the artifact is read here. They must tell the same:
Refs and their memory spaces, loads, stores, copies, products, aliases, and what computes outside the kernels. The
program that `interpret` runs came from there too, and must do the same arithmetic as the TPU's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import jax.export

from tutor.findings import finding
from tutor.jaxpr.arithmetic import arithmetic, disagreements
from tutor.jaxpr.census import KERNEL_CALLS
from tutor.jaxpr.lowered import Lowered, LoweredKernel, read_lowered
from tutor.judge.ablation import CannotAblate, ablate
from tutor.judge.mosaic.program import Program
from tutor.judge.oracle import Oracle
from tutor.judge.scan import scan
from tutor.judge.tpu_run import TpuRuns
from tutor.protocol import CaseFacts, CaseSpec, Finding, KernelFacts
from tutor.wire import Witness, WitnessJob

MOVES = frozenset({
    "slice", "dynamic_slice", "dynamic_update_slice", "pad", "concatenate", "split", "gather", "rev", "iota",
    "select_n",
})  # fmt: skip
"""Primitives that take elements from one place to another, and compute nothing with them."""

_DTYPES = {"float32": "f32", "int32": "i32", "uint32": "i32", "bfloat16": "bf16", "float16": "f16"}


def cross_examine(job: WitnessJob) -> list[Finding]:
    """Case by case the two witnesses compared, and the ablation and the run where there are inputs for them. The small
    cases come first: all of them share the budget of the runs."""
    oracle = None if job.oracle is None else Oracle(job.oracle)
    runs = TpuRuns(job.tolerance)
    ordered = sorted(job.witnesses, key=lambda witness: _elements(witness.case))
    return [found for witness in ordered for found in _examine(witness, oracle, runs, outside=job.outside)]


def _elements(case: CaseSpec) -> int:
    return sum(math.prod(spec.shape) for spec in (*case.inputs, *case.outputs))


def _examine(witness: Witness, oracle: Oracle | None, runs: TpuRuns, *, outside: bool) -> list[Finding]:
    case = witness.case
    try:
        findings = compare_witnesses(witness.artifact, witness.facts)
        if witness.cpu is not None and not scan(witness.cpu, case.name):  # else `interpret` says what it has against it
            findings += compare_programs(witness.cpu, witness.artifact, case.name)
    except Exception as error:  # a kernel that is none may make a parser stumble in any way
        message = "The lowered program holds a kernel that cannot be read."
        return [finding("KT812", message, raw=f"{type(error).__name__}: {error}"[:2000], case=case.name)]
    if oracle is None or not witness.facts.kernels:
        return findings
    inputs, others = (oracle.make_inputs(case, seed) for seed in witness.seeds)
    want = oracle.expected(inputs, case)
    try:
        program = Program(jax.export.deserialize(bytearray(witness.artifact)))
        findings += ablate(program, case, list(inputs.values()), list(others.values()), outside=outside)
    except CannotAblate as reason:
        return [*findings, _not_tried_out(case, reason)]
    except Exception as error:  # the kernels could be read above, but what is left of the program is none
        return [*findings, _not_tried_out(case, error)]
    return findings + runs.check(program, case, list(inputs.values()), want)


def _not_tried_out(case: CaseSpec, reason: Exception) -> Finding:
    message = "Whether the result depends on the kernel alone could not be tried out on a CPU."
    return finding("KT391", message, severity="note", raw=str(reason)[:2000], case=case.name)


def compare_programs(cpu: bytes, tpu: bytes, case: str) -> list[Finding]:
    """`KT390` if the program that is run here computes something else than the one for TPU."""
    counted = [arithmetic(jax.export.deserialize(bytearray(artifact))) for artifact in (cpu, tpu)]
    differ = disagreements(*counted)
    if not differ:
        return []
    message = (
        "The program that interpret mode ran and the one for TPU do not do the same arithmetic. In this order they "
        f"have {'; '.join(differ)}. Both must come from one kernel."
    )
    return [finding("KT390", message, case=case)]


def compare_witnesses(artifact: bytes, facts: CaseFacts) -> list[Finding]:
    """`KT390` for every way in which the artifact contradicts the facts of its case."""
    return [
        finding("KT390", message, line=line, case=facts.case)
        for message, line in contradictions(read_lowered(jax.export.deserialize(bytearray(artifact))), facts)
    ]


def contradictions(lowered: Lowered, facts: CaseFacts) -> list[tuple[str, int | None]]:
    """What the artifact says otherwise than the facts, in words, with the line of the kernel that it is about."""
    found: list[tuple[str, int | None]] = []
    strange = sorted(set(lowered.calls) - KERNEL_CALLS)
    if strange:
        found.append((f"The lowered program calls {', '.join(strange)}, which is no kernel.", None))
    beside = set(lowered.outside) - _told_by_bools(facts)
    if not {primitive.name for primitive in facts.outside} <= MOVES:
        beside = set()  # the trace says itself that something computes there
    elif facts.outside:
        beside = set(lowered.arithmetic)
    if beside:
        names = ", ".join(sorted(beside))
        found.append((f"The lowered program computes outside its kernels ({names}); the trace does not show it.", None))
    if facts.kernels and not lowered.kernels:
        return found  # whoever throws the kernel's result away has it left out of the lowering: ablation says so
    if bool(lowered.kernels) != bool(facts.kernels):
        count = (len(lowered.kernels), len(facts.kernels))
        found.append((f"The lowered program has {count[0]} kernels, the trace {count[1]}.", None))
        return found
    # A kernel that is called twice may be lowered once, so each only needs its like on the other side.
    for number, kernel in enumerate(facts.kernels):
        differences = [_differences(kernel, other) for other in lowered.kernels]
        if all(differences):
            same = differences[number] if number < len(differences) else differences[0]
            found.append((f"Kernel {kernel.kernel.name}, as it was lowered, {same[0]}.", kernel.line))
    for other in lowered.kernels:
        if all(_differences(kernel, other) for kernel in facts.kernels):
            found.append(("The lowered program has a kernel that the trace does not show.", None))
    return list(dict.fromkeys(found))


def _told_by_bools(facts: CaseFacts) -> set[str]:
    """Bools go in and out of a kernel as numbers, and the lowering makes bools of them by comparing with 0."""
    bools = any(operand.dtype == "bool" for kernel in facts.kernels for operand in kernel.kernel.operands)
    return {"stablehlo.compare"} if bools else set()


def _differences(kernel: KernelFacts, lowered: LoweredKernel) -> list[str]:
    """How one lowered kernel differs from one traced kernel; empty if it is that kernel."""
    accesses = kernel.kernel.accesses
    loads, stores, copies = (
        sum(1 for access in accesses if access.kind in kinds)
        for kinds in (("load",), ("store", "accumulate"), ("copy_start",))
    )
    differences = []
    # A kernel that is given Refs of the program outside gets, when lowered, an output of its own for each it writes.
    given = max(0, lowered.aliases - len(kernel.aliases)) if kernel.kernel.primitive == "mpmd_map" else 0
    theirs = [(ref.name, ref.space) for ref in lowered.refs][: len(lowered.refs) - given]
    mine = [(operand.name, operand.space) for operand in kernel.kernel.operands][: len(theirs)]
    if [space for _, space in mine] != [space for _, space in theirs]:
        differences.append(f"has its Refs in {_spaces(theirs)}; the trace has them in {_spaces(mine)}")
    straight = all(access.per_step == 1 for access in accesses) and not lowered.loops
    if not _agree(lowered.stores, stores, straight):
        differences.append(f"stores {lowered.stores} times; the trace shows {stores}")
    if not _agree(lowered.copies, copies, straight):
        differences.append(f"starts {lowered.copies} copies; the trace shows {copies}")
    if not _agree(lowered.loads, loads + stores, straight):  # a store is lowered as a load and a store
        differences.append(f"loads {lowered.loads} times; the trace shows {loads} loads and {stores} stores")
    products = Counter(_DTYPES.get(dot.result_dtype, dot.result_dtype) for dot in kernel.dots)
    if set(lowered.products) - set(products):
        differences.append(f"has products in {', '.join(lowered.products)}; the trace shows {dict(products) or 'none'}")
    if lowered.aliases != len(kernel.aliases) + given:
        differences.append(f"has {lowered.aliases} aliases; the trace shows {len(kernel.aliases)}")
    return differences


def _agree(lowered: int, traced: int, straight: bool) -> bool:
    """Whether a count of the lowered kernel fits the traced one; a loop may have been unrolled."""
    return lowered == traced if straight else (lowered >= traced if traced else lowered == 0)


def _spaces(refs: Sequence[tuple[str, str | None]]) -> str:
    return ", ".join(f"{space}" for _, space in refs) or "nothing"
