"""The program of the timing case, of the attempt and of the reference: both are compiled to estimate their speed."""

from __future__ import annotations

import hashlib
from typing import Literal, NamedTuple

import msgspec

from tutor.ladder.runs import RUN_LIMITS, TRACE_LIMITS, Failed, Runs
from tutor.ladder.same_program import another_program
from tutor.ladder.tracing import Tracing
from tutor.protocol import CaseFacts, CaseSpec, Finding, Kernel
from tutor.wire import Artifact, ArtifactJob, Attempt, Broken, Loaded, Traced, TraceJob


class Lowered(NamedTuple):
    """One program of one case: its TPU artifact by chip (or the CPU's, under `cpu`), its facts, and why there is
    none."""

    artifacts: dict[str, bytes]
    facts: CaseFacts | None
    findings: list[Finding]

    @property
    def kernels(self) -> list[Kernel]:
        return [kernel.kernel for kernel in self.facts.kernels] if self.facts else []


async def integer_values(runs: Runs, case: CaseSpec) -> bytes:
    """`.npz` bytes of the case's integer inputs, which can steer loops; empty if it has none."""
    if any(spec.dtype.startswith(("int", "uint")) for spec in case.inputs):
        return await runs.inputs(case, runs.subject.seed_of(case, 0), integers_only=True)
    return b""


async def lowered_reference(runs: Runs, case: CaseSpec, values: bytes) -> Lowered | None:
    """The reference solution's program, made once for an exercise and chips; None if the set has no solutions."""
    reference = runs.subject.reference
    if reference is None:
        return None
    known = runs.compiler.programs
    key = hashlib.sha256(msgspec.msgpack.encode((reference, case, runs.subject.chips))).digest()
    program = known.get(key)
    if not isinstance(program, Lowered):
        program = known[key] = await lowered(runs, reference, case, values)
    return program


async def lowered(
    runs: Runs,
    program: Attempt,
    case: CaseSpec,
    values: bytes,
    platform: Literal["cpu", "tpu"] = "tpu",
    chips: tuple[str, ...] = (),
) -> Lowered:
    """Trace one case of a program and export it: for every chip, those of the subject by default, or for the CPU."""
    chips = chips or runs.subject.chips
    artifacts: dict[str, bytes] = {}
    findings: list[Finding] = []
    traced = Tracing()
    ints = {case.name: values} if values else {}
    async for answer in runs.ask(runs.stage, TraceJob(program, [case], ints, TRACE_LIMITS, False, chips[0])):
        if isinstance(answer, Traced) and answer.facts is not None:
            traced.facts[case.name] = answer.facts
        elif isinstance(answer, Traced | Loaded):
            findings += answer.findings
        elif isinstance(answer, Broken):
            raise Failed(answer)
    facts = traced.facts.get(case.name)
    if findings:
        return Lowered(artifacts, facts, findings)
    async for answer in runs.ask(runs.stage, ArtifactJob(program, [case], [platform], RUN_LIMITS, chips)):
        if isinstance(answer, Artifact):
            answer = await runs.scanned(answer)
            findings += answer.findings
            if platform == "cpu" or chips[0] in answer.chips:
                findings += another_program(traced, case.name, answer.jaxpr_sha256)
            if answer.data is not None:
                artifacts.update(dict.fromkeys(["cpu"] if platform == "cpu" else answer.chips, answer.data))
        elif isinstance(answer, Broken):
            raise Failed(answer)
    return Lowered(artifacts, facts, findings)
