"""`compile`: libtpu compiles every case for every asked-for chip, with no TPU."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence

import msgspec

from tutor.ladder.libtpu import libtpu_command
from tutor.ladder.runs import Failed, Runs
from tutor.ladder.tracing import Tracing
from tutor.ladder.verdict import stage_result
from tutor.ladder.worker import WorkerDied
from tutor.protocol import CaseResult, CaseSpec, Compilation, Finding, StageResult
from tutor.wire import Broken, Compiled, CompileJob

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
    wanted = [
        (case, chip) for chip in runs.subject.chips for case in runs.subject.cases if (case.name, chip) in artifacts
    ]
    done = list(await asyncio.gather(*(_compile(runs, traced, artifacts, case, chip) for case, chip in wanted)))
    seconds = time.monotonic() - began
    compilations = [one.compilation for one in done]
    findings = over_chips(done)
    cannot = next((one.unavailable for one in done if one.unavailable), None)
    if cannot and not findings:
        return stage_result("compile", status="unavailable", reason=cannot, seconds=seconds), compilations
    if not done:
        reason = "no case could be lowered for TPU here"
        return stage_result("compile", status="unavailable", reason=reason), []
    return stage_result("compile", findings, _by_case(compilations), seconds=seconds), compilations


async def _compile(runs: Runs, traced: Tracing, artifacts: Artifacts, case: CaseSpec, chip: str) -> Compiled:
    facts = traced.facts.get(case.name)
    job = CompileJob(
        artifact=artifacts[case.name, chip],
        case=case.name,
        chip=chip,
        path=runs.subject.attempt.path,
        kernels=[kernel.kernel for kernel in facts.kernels] if facts else [],
    )
    answer = await runs.compiler.compile(job)
    if isinstance(answer, Broken):
        raise Failed(answer)
    return answer


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
