"""`compile`: libtpu compiles every case for every asked-for chip, with no TPU."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence

import msgspec

from tutor.ladder.libtpu import libtpu_command
from tutor.ladder.limits import advice
from tutor.ladder.runs import Failed, Runs
from tutor.ladder.timed_case import Lowered, integer_values, lowered, lowered_reference
from tutor.ladder.tracing import Tracing
from tutor.ladder.verdict import stage_result
from tutor.ladder.work import work_of
from tutor.ladder.worker import WorkerDied
from tutor.protocol import CaseResult, CaseSpec, Compilation, Finding, StageResult
from tutor.roof import roof
from tutor.wire import Attempt, Broken, Compiled, CompileJob

Artifacts = Mapping[tuple[str, str], bytes]
"""TPU artifacts by case and chip."""


async def compile_stage(runs: Runs, traced: Tracing, artifacts: Artifacts) -> tuple[StageResult, list[Compilation]]:
    """Compile every case for each chip; it fails if any chip fails."""
    began = time.monotonic()
    try:
        hello = await runs.compiler.start()
    except WorkerDied as died:
        last = died.tail.splitlines()[-1:] or ["it gives no reason"]
        reason = f"libtpu cannot be loaded here: {last[0]}"
        return stage_result("compile", status="unavailable", reason=reason), []
    if hello.versions.get("libtpu") is None:
        reason = f"libtpu is not installed, so nothing was compiled for a TPU. This adds it: {libtpu_command()}"
        return stage_result("compile", status="unavailable", reason=reason), []
    subject, timed = runs.subject, runs.subject.time_case
    checked = [(case, chip) for chip in subject.chips for case in subject.cases if (case.name, chip) in artifacts]
    values = await integer_values(runs, timed)
    done, (apart, refused) = await asyncio.gather(
        asyncio.gather(
            *(_checked(runs, traced, artifacts[case.name, chip], case, chip, values) for case, chip in checked)
        ),
        _timed(runs, values),
    )
    done = [*done, *apart]
    seconds = time.monotonic() - began
    compilations = await _beside_reference(runs, [one.compilation for one in done], values)
    findings = [*over_chips(done), *refused]
    cannot = next((one.unavailable for one in done if one.unavailable), None)
    if cannot and not findings:
        return stage_result("compile", status="unavailable", reason=cannot, seconds=seconds), compilations
    if not done:
        reason = "no case could be lowered for TPU here"
        return stage_result("compile", status="unavailable", reason=reason), []
    return stage_result("compile", findings, _by_case(compilations[: len(checked)]), seconds=seconds), compilations


async def _checked(runs: Runs, traced: Tracing, artifact: bytes, case: CaseSpec, chip: str, values: bytes) -> Compiled:
    program = Lowered({chip: artifact}, traced.facts.get(case.name), [])
    is_timed = case.name == runs.subject.time_case.name
    return await _compile(runs, runs.subject.attempt, program, case, chip, values if is_timed else None)


async def _timed(runs: Runs, values: bytes) -> tuple[list[Compiled], list[Finding]]:
    """The attempt's timing case where that is a case of its own; else it is compiled with the others."""
    subject, case = runs.subject, runs.subject.time_case
    if case.name in {checked.name for checked in subject.cases}:
        return [], []
    program = await lowered(runs, subject.attempt, case, values)
    chips = [chip for chip in subject.chips if chip in program.artifacts]
    done = [await _compile(runs, subject.attempt, program, case, chip, values) for chip in chips]
    warned = [msgspec.structs.replace(one, findings=[_only_a_warning(found) for found in one.findings]) for one in done]
    return warned, [_only_a_warning(found) for found in program.findings]


def _only_a_warning(found: Finding) -> Finding:
    """A timing case is compiled for its estimate: what is wrong with it fails nothing, but it has no estimate."""
    if found.severity != "error":
        return found
    message = f"{found.message} This is the timing case, so there is no estimate of the speed."
    return msgspec.structs.replace(found, severity="warning", message=message)


async def _beside_reference(runs: Runs, compilations: list[Compilation], values: bytes) -> list[Compilation]:
    """The compilations, with the reference's schedule where the attempt has one."""
    case, reference = runs.subject.time_case, runs.subject.reference
    if reference is None and runs.subject.rules is not None:
        return [_alone(one) for one in compilations]
    if reference is None or not any(one.schedule for one in compilations):
        return compilations
    program = await lowered_reference(runs, case, values)
    found: list[Compilation] = []
    for one in compilations:
        if one.schedule is not None and program is not None and one.chip in program.artifacts:
            other = await _compile(runs, reference, program, case, one.chip, values)
            one = msgspec.structs.replace(
                one, reference=other.compilation.schedule, reference_work=other.compilation.work
            )
        found.append(one)
    return found


def _alone(one: Compilation) -> Compilation:
    """A student's copy of a set has no solutions."""
    if one.schedule is None:
        return one
    notes = [*one.schedule.notes, "this copy of the set holds no reference to compare with"]
    return msgspec.structs.replace(one, schedule=msgspec.structs.replace(one.schedule, notes=notes))


async def _compile(
    runs: Runs, program: Attempt, made: Lowered, case: CaseSpec, chip: str, values: bytes | None
) -> Compiled:
    """Compile one program for one chip; with `values` its speed is estimated too."""
    job = CompileJob(
        artifact=made.artifacts[chip],
        case=case.name,
        chip=chip,
        path=program.path,
        kernels=made.kernels,
        estimate=values is not None,
        values=values or b"",
    )
    answer = await runs.compiler.compile(job)
    if isinstance(answer, Broken):
        raise Failed(answer)
    if values is None:
        return answer
    work = work_of(made.facts, case)
    said = None
    if (schedule := answer.compilation.schedule) is not None and work is not None and made.facts is not None:
        said = advice(made.facts, work, roof(chip), schedule.total_us, schedule)
    compilation = msgspec.structs.replace(answer.compilation, work=work, advice=said.words if said else None)
    return msgspec.structs.replace(answer, compilation=compilation)


def over_chips(done: Sequence[Compiled]) -> list[Finding]:
    """What several chips refuse for the same reason is said once, with the chips that agree."""
    groups: dict[tuple[object, ...], list[tuple[str, Finding]]] = {}
    for one in done:
        for found in one.findings:
            groups.setdefault((found.code, found.line, found.ref), []).append((one.compilation.chip, found))
    findings: list[Finding] = []
    for group in groups.values():
        first_chip, first = group[0]
        others = list(dict.fromkeys(chip for chip, _ in group if chip != first_chip))
        if others:
            also = f"{first.message} The same happens on {_listed(others)}."
            first = msgspec.structs.replace(first, message=also)
        findings.append(first)
    return findings


def _by_case(compilations: Sequence[Compilation]) -> list[CaseResult]:
    failed = {one.case for one in compilations if one.status == "failed"}
    names = dict.fromkeys(one.case for one in compilations)
    return [CaseResult(name, "failed" if name in failed else "passed") for name in names]


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
