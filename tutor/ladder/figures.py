"""The figures of the reference, with which two rules compare an attempt (`max_steps_ratio`, `max_bytes_ratio`).

They are read off the reference where the set has it. A student's copy has no reference: `set pack` wrote the figures
down, for the public cases and their usual inputs."""

from __future__ import annotations

import hashlib

import msgspec

from tutor.findings import finding
from tutor.ladder.runs import TRACE_LIMITS, Runs
from tutor.ladder.subject import Subject
from tutor.protocol import CaseSpec, Figures, Finding, Rules
from tutor.wire import Traced, TraceJob


def compares(rules: Rules | None) -> bool:
    """Whether some rule is a ratio to the reference."""
    return rules is not None and not (rules.max_steps_ratio is None and rules.max_bytes_ratio is None)


async def reference_figures(runs: Runs) -> list[Figures]:
    """The reference's figures, by case, where a rule asks for them and they are known. They are read off it once."""
    subject = runs.subject
    if not compares(subject.rules):
        return []
    if subject.reference is None:
        return [found for found in subject.figures if _holds(subject, found.case)]
    job = TraceJob(subject.reference, subject.cases, await runs.index_values(), TRACE_LIMITS)
    name = hashlib.sha256(msgspec.msgpack.encode(job)).digest()
    if name in runs.figures:
        return runs.figures[name]
    found = [
        answer.facts.figures
        async for answer in runs.ask(runs.stage, job)
        if isinstance(answer, Traced) and answer.facts is not None
    ]
    if len(found) == len(subject.cases):
        runs.figures[name] = found
    return found


def not_compared(subject: Subject, known: list[Figures]) -> list[Finding]:
    """A note where a rule compares with the reference, and nothing is known of it."""
    missing = {case.name for case in subject.cases} - {found.case for found in known}
    if not compares(subject.rules) or not missing or subject.reference is not None:
        return []
    words = (
        "This exercise has a rule that compares your kernel with the reference (how many steps it takes, or how many "
        "bytes it moves), and this copy of the set knows nothing of the reference here. The rule was left out."
    )
    return [finding("KT860", words, severity="note")]


def _holds(subject: Subject, name: str) -> bool:
    """Whether figures that were written down hold for this run: other integers may make another number of steps."""
    case = next((case for case in subject.cases if case.name == name), None)
    usual = subject.seed is None and subject.key is None
    return case is not None and (usual or not _has_integers(case))


def _has_integers(case: CaseSpec) -> bool:
    return any(spec.dtype.startswith(("int", "uint")) for spec in case.inputs)
