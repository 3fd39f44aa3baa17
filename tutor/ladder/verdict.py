"""From stage results to one verdict: pure functions."""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence

import msgspec

from tutor.ladder.subject import Named
from tutor.protocol import (
    PARENTS,
    STAGES,
    CaseResult,
    Compilation,
    Environment,
    Finding,
    Kernel,
    StageName,
    StageResult,
    Status,
    Timing,
    Verdict,
)
from tutor.wire import Hello

OUTPUT_LINES = 200
_ADDRESS = re.compile(r"\b0x[0-9a-f]{9,16}\b")
_INSTALLED = re.compile(r"""[^\s"'<>(]*/(?=(?:site|dist)-packages/)""")


def stage_result(
    name: StageName,
    findings: Sequence[Finding] = (),
    cases: Sequence[CaseResult] = (),
    *,
    seconds: float = 0.0,
    status: Status | None = None,
    reason: str | None = None,
) -> StageResult:
    """The result of a stage; without `status` it failed if a finding is an error or a case failed.

    A problem that several cases or modes show (same code, line and Ref) is said once."""
    once = {(found.code, found.line, found.ref): found for found in reversed(findings)}
    findings = [_steady(found) for found in findings if once[found.code, found.line, found.ref] is found]
    if status is None:
        bad = any(found.severity == "error" for found in findings) or any(case.status == "failed" for case in cases)
        status = "failed" if bad else "passed"
    return StageResult(name, status, round(seconds, 3), reason, list(findings), list(cases))


def skip_reason(stage: StageName, done: dict[StageName, StageResult]) -> str | None:
    """Why `stage` cannot run: a parent failed, was skipped or had an error. None if it can."""
    words = {"failed": "did not pass", "skipped": "was skipped", "error": "had an error"}
    for parent in PARENTS[stage]:
        if parent in done and done[parent].status in words:
            return f"{parent} {words[done[parent].status]}"
    return None


def passed(stages: Sequence[StageResult], *, whole: bool) -> bool:
    """FORMATS 3 and DESIGN 4: nothing failed, was skipped or had an error; a whole run needs confirmed numbers."""
    status = {stage.name: stage.status for stage in stages}
    if any(value in ("failed", "skipped", "error") for value in status.values()):
        return False
    if not whole:
        return True
    numbers = status.get("interpret") == "passed" or (
        status.get("interpret") == "unavailable" and status.get("hazards") == "passed"
    )
    return numbers and status.get("structure") == "passed"


def score(stages: Sequence[StageResult], points: dict[StageName, float]) -> float:
    """Weight of passed stages over weight of all stages that are not unavailable, 0 to 1."""
    counted = [stage for stage in stages if stage.status != "unavailable"]
    total = sum(points.get(stage.name, 1.0) for stage in counted)
    won = sum(points.get(stage.name, 1.0) for stage in counted if stage.status == "passed")
    return round(won / total, 4) if total else 0.0


def assemble(
    subject: Named,
    done: dict[StageName, StageResult],
    *,
    kernels: list[Kernel],
    compiled: Sequence[Compilation],
    timing: Timing | None,
    printed: str,
    hello: Hello | None,
    device: str | None,
    whole: bool,
    seconds: float,
) -> Verdict:
    """The verdict of a run."""
    stages = [done[name] for name in STAGES if name in done]
    versions = hello.versions if hello else {}
    return Verdict(
        set=subject.set_id,
        exercise=subject.slug,
        attempt=subject.id,
        passed=passed(stages, whole=whole),
        score=score(stages, subject.points),
        stages=stages,
        kernels=kernels,
        compile=list(compiled),
        timing=timing,
        output=steady(first_lines(printed, OUTPUT_LINES)),
        environment=Environment(
            python=platform.python_version(),
            jax=versions.get("jax") or "",
            jaxlib=versions.get("jaxlib") or "",
            libtpu=versions.get("libtpu"),
            device=device,
            isolation=hello.isolation if hello else "C",
        ),
        seconds=round(seconds, 3),
    )


def steady(text: str) -> str:
    """The text without what differs from run to run and from machine to machine: addresses of Python's objects, and
    where packages are installed."""
    return _INSTALLED.sub("…/", _ADDRESS.sub("0x…", text))


def _steady(found: Finding) -> Finding:
    raw = None if found.raw is None else steady(found.raw)
    return msgspec.structs.replace(found, message=steady(found.message), raw=raw)


def first_lines(text: str, limit: int) -> str:
    """At most `limit` lines of `text`, and a word on what was left out."""
    lines = text.splitlines()
    if len(lines) <= limit:
        return text
    return "\n".join([*lines[:limit], f"… {len(lines) - limit} more lines"])


def in_own_words(stage: StageResult, diagnosis: dict[str, str]) -> StageResult:
    """The exercise's own words stand before the general ones."""
    findings = [
        msgspec.structs.replace(found, message=f"{diagnosis[found.code]}\n{found.message}")
        if found.code in diagnosis
        else found
        for found in stage.findings
    ]
    return msgspec.structs.replace(stage, findings=findings)
