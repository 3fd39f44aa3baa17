"""What a run of the stager may answer to its job.

Its process ran the attempt's Python, which can send whatever it likes under our types: cases that nobody asked for, one
case twice and another never, a program for no chip, nothing at all in place of a result. Every stage counts on these
answers being whole, so whatever our own code never says is a forged answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from tutor.findings import codes
from tutor.protocol import CaseSpec, Finding
from tutor.wire import (
    HAZARD_MODES,
    Artifact,
    ArtifactJob,
    Body,
    Broken,
    HazardJob,
    Job,
    Loaded,
    Simulated,
    Traced,
    TraceJob,
)

MOST_FINDINGS = 1_000
MOST_WORDS = 1 << 20
"""Letters of all findings of one answer: ours cut what they quote at a few thousand."""
MOST_PRINTED = 4 << 20

Claim = Loaded | Traced | Artifact | Simulated


class Claims:
    """The answers of one run, looked at one by one as they come."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._said: set[object] = set()

    def against(self, answer: Body) -> str | None:
        """Why the stager cannot have said this; None if it may have. Runs of attempts at exercises are held to it."""
        if not isinstance(self._job, TraceJob | ArtifactJob | HazardJob) or isinstance(answer, Broken):
            return None
        if not isinstance(answer, Loaded | Traced | Artifact | Simulated):
            return f"{type(answer).__name__} is no answer to such a job"
        return next(self._problems(answer), None)

    def _problems(self, answer: Claim) -> Iterator[str]:
        yield from _findings(answer.findings)
        if not (math.isfinite(answer.seconds) and answer.seconds >= 0):
            yield "a time that is none"
        match self._job, answer:
            case _, Loaded():
                if Loaded in self._said:
                    # A refusal to load that comes after all is said once more, in the place of the first word.
                    yield from () if answer.findings else ("it was loaded twice",)
                self._said.add(Loaded)
            case TraceJob() as job, Traced():
                yield from self._case(answer.case, job.cases, answer.case)
                yield from _traced(answer)
            case ArtifactJob() as job, Artifact():
                yield from self._program(job, answer)
            case HazardJob() as job, Simulated():
                yield from self._case(answer.case, [job.case], answer.mode)
                yield from _simulated(job, answer)
            case _:
                yield f"{type(answer).__name__} is no answer to such a job"

    def _case(self, name: str, asked: Iterable[CaseSpec], *once: object) -> Iterator[str]:
        if name not in {case.name for case in asked}:
            yield "a case that nobody asked for"
        if once in self._said:
            yield "the same case twice"
        self._said.add(once)

    def _program(self, job: ArtifactJob, answer: Artifact) -> Iterator[str]:
        if answer.platform not in job.platforms:
            yield "a program for another platform"
        chips = job.chips if answer.platform == "tpu" else job.chips[:1]
        for chip in answer.chips:
            yield from self._case(answer.case, job.cases, answer.case, answer.platform, chip)
        if not answer.chips or not set(answer.chips) <= set(chips):
            yield "a program for no chip that was asked for"
        if answer.data is not None and not answer.jaxpr_sha256:
            yield "a program that was made of nothing"
        if answer.data is None and not _says_why(answer.findings, answer.unavailable):
            yield "no program, and no reason"
        if answer.unavailable is not None and answer.platform == "tpu":
            yield "a lowering that is not available"

    def missing(self) -> str | None:
        """What a run that ended well has left out: a program for some chip of a case that has one for another."""
        if not isinstance(self._job, ArtifactJob) or "tpu" not in self._job.platforms:
            return None
        for case in self._job.cases:
            left = [chip for chip in self._job.chips if (case.name, "tpu", chip) not in self._said]
            if left and len(left) < len(self._job.chips):
                return f"a program of {case.name}, and none for {left[0]}"
        return None


def _findings(findings: list[Finding]) -> Iterator[str]:
    if len(findings) > MOST_FINDINGS:
        yield f"{len(findings):,} findings"
    if sum(len(part or "") for found in findings for part in _words(found)) > MOST_WORDS:
        yield "findings that are too long to be read"
    if not {found.code for found in findings} <= set(codes()):
        yield "a finding that has no page"


def _words(found: Finding) -> tuple[str | None, ...]:
    return found.title, found.message, found.raw, found.ref, found.case, found.hint


def _traced(answer: Traced) -> Iterator[str]:
    facts = answer.facts
    if facts is None:
        if not _says_why(answer.findings, None):
            yield "no facts, and no reason"
        return
    if facts.case != answer.case or not facts.jaxpr_sha256:
        yield "facts of another case, or of no program"
    if "on_wait" not in facts.modes or not set(facts.modes) <= set(HAZARD_MODES):
        yield "other modes of the simulator than there are"
    yield from _findings([*facts.suspects, *facts.doubts])


def _simulated(job: HazardJob, answer: Simulated) -> Iterator[str]:
    if answer.mode != job.mode:
        yield "another mode of the simulator"
    if answer.outputs is None and not _says_why(answer.findings, answer.unavailable):
        yield "no result, and no reason"
    if answer.outputs is not None and not answer.jaxpr_sha256:
        yield "a result of no program"
    if len(answer.printed) > MOST_PRINTED:
        yield "more output than is kept"


def _says_why(findings: list[Finding], unavailable: str | None) -> bool:
    return unavailable is not None or any(found.severity == "error" for found in findings)
