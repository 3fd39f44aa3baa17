"""The second witness: what the stager said of its kernels, against the TPU artifact that it made.

The facts come from the process that ran the learner's Python, the artifact is read here. They must tell the same of
each kernel (`judge/geometry.py` and what it calls), of what stands outside the kernels, and of what has to be
simulated. The program that `interpret` runs came from there too, and must do the same arithmetic as the TPU's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import jax.export

from tutor.findings import finding
from tutor.jaxpr.arithmetic import arithmetic, disagreements
from tutor.jaxpr.census import KERNEL_CALLS
from tutor.jaxpr.lowered import MOVING, Lowered, read_lowered
from tutor.judge.ablation import CannotAblate, ablate
from tutor.judge.geometry import differences
from tutor.judge.mosaic.program import Program
from tutor.judge.oracle import Oracle
from tutor.judge.scan import scan
from tutor.judge.tpu_run import TpuRuns
from tutor.judge.walked import unconfirmed
from tutor.protocol import CaseFacts, CaseSpec, Finding
from tutor.wire import Witness, WitnessJob
from tutor.workers.arrays import Array, unpack

MOVES = frozenset({
    "slice", "dynamic_slice", "dynamic_update_slice", "pad", "concatenate", "split", "gather", "rev", "iota",
    "select_n",
})  # fmt: skip
"""Primitives that take elements from one place to another, and compute nothing with them."""

_EARLY = ("tpu.enqueue_dma", "tpu.wait_dma", "tpu.sem_signal", "tpu.sem_wait")


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
        findings = compare_witnesses(
            witness.artifact, witness.facts, case, unpack(witness.values) if witness.values else {}
        )
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


def compare_witnesses(
    artifact: bytes, facts: CaseFacts, case: CaseSpec, values: Mapping[str, Array] | None = None
) -> list[Finding]:
    """`KT390` for every way in which the artifact contradicts the facts of its case, and `KT397` for what it can
    neither contradict nor confirm. `values` are the inputs whose contents the facts rest on, by name."""
    names = [spec.name for spec in case.inputs]
    known = {i: (values or {})[name] for i, name in enumerate(names) if name in (values or {})}
    lowered = read_lowered(jax.export.deserialize(bytearray(artifact)), known)
    said = contradictions(lowered, facts, names)
    findings = [finding("KT390", message, line=line, case=facts.case) for message, line in said]
    if findings or len(lowered.kernels) != len(facts.kernels):
        return findings
    for kernel, other in zip(facts.kernels, lowered.kernels, strict=True):
        if open_blocks := unconfirmed(kernel, other):
            message = (
                f"Which block of {', '.join(open_blocks)} each grid step works on, and what moves for it, could be "
                "worked out from one of the traced and the lowered kernel only."
            )
            findings.append(finding("KT397", message, severity="note", line=kernel.line, case=facts.case))
    return findings


def contradictions(lowered: Lowered, facts: CaseFacts, names: Sequence[str] = ()) -> list[tuple[str, int | None]]:
    """What the artifact says otherwise than the facts, in words, with the line of the kernel that it is about."""
    found: list[tuple[str, int | None]] = []
    strange = sorted(set(lowered.calls) - KERNEL_CALLS)
    if strange:
        found.append((f"The lowered program calls {', '.join(strange)}, which is no kernel.", None))
    beside = set(lowered.outside) - _told_by_bools(facts)
    if facts.outside:
        beside -= MOVING
    if not {primitive.name for primitive in facts.outside} <= MOVES:
        beside = set()  # the trace says itself that something computes there
    elif facts.outside:
        beside = set(lowered.arithmetic)
    if beside:
        said = ", ".join(sorted(beside))
        found.append((f"The lowered program computes outside its kernels ({said}); the trace does not show it.", None))
    if facts.kernels and not lowered.kernels:
        return found  # whoever throws the kernel's result away has it left out of the lowering: ablation says so
    if bool(lowered.kernels) != bool(facts.kernels):
        count = (len(lowered.kernels), len(facts.kernels))
        found.append((f"The lowered program has {count[0]} kernels, the trace {count[1]}.", None))
        return found
    if len(lowered.kernels) > len(facts.kernels):
        count = (len(lowered.kernels), len(facts.kernels))
        found.append((f"The lowered program calls kernels {count[0]} times, the trace {count[1]} times.", None))
    # Each only needs its like on the other side: what is thrown away is left out of the lowering.
    table = [[next(differences(kernel, other, names), None) for other in lowered.kernels] for kernel in facts.kernels]
    for number, (kernel, row) in enumerate(zip(facts.kernels, table, strict=True)):
        if None not in row:
            same = row[number] if number < len(row) else row[0]
            found.append((f"Kernel {kernel.kernel.name}, as it was lowered, {same}.", kernel.line))
    if any(None not in column for column in zip(*table, strict=True)):
        found.append(("The lowered program has a kernel that the trace does not show.", None))
    if any(kernel.counted["func.call"] for kernel in lowered.kernels):
        # JAX puts functions into the kernel itself; what stands in one that is called would not be counted here.
        found.append(("A lowered kernel calls a function beside it; none that JAX lowers does.", None))
    unasked = sorted(_modes(lowered) - set(facts.modes))
    if unasked:
        found.append((f"The lowered kernels have to be simulated in the mode {', '.join(unasked)} as well.", None))
    return list(dict.fromkeys(found))


def _modes(lowered: Lowered) -> set[str]:
    """The hazard modes that the lowered kernels need beside `on_wait`: copies and semaphores may come early, and two
    cores share the axes that are parallel, if those come first."""
    modes = set()
    for kernel in lowered.kernels:
        if any(kernel.counted[name] for name in _EARLY):
            modes.add("eager")
        parallel = [axis == "parallel" for axis in kernel.function.semantics]
        shared = [n for n, splits in zip(kernel.function.grid, parallel, strict=False) if splits and n != 1]
        if shared and parallel == sorted(parallel, reverse=True):
            modes.add("two_cores")
    return modes


def _told_by_bools(facts: CaseFacts) -> set[str]:
    """Bools go in and out of a kernel as numbers, and the lowering makes bools of them by comparing with 0."""
    bools = any(operand.dtype == "bool" for kernel in facts.kernels for operand in kernel.kernel.operands)
    return {"stablehlo.compare"} if bools else set()
