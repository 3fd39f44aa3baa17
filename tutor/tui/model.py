"""What the screen shows, as frozen snapshots and pure functions over them. No widget, no file, no clock in here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from tutor.ladder.chip_use import by_chip
from tutor.ladder.events import (
    CaseFinished,
    CheckFinished,
    Event,
    KernelsTraced,
    Lowered,
    StageFinished,
    StageStarted,
)
from tutor.ladder.speed_words import short_estimate
from tutor.protocol import (
    PREDICT_QUESTIONS,
    PREDICT_STAGES,
    QUESTIONS,
    STAGES,
    UNREFERENCED,
    AccessKind,
    CaseError,
    CaseFacts,
    CaseResult,
    Compilation,
    Finding,
    Kernel,
    KernelFacts,
    MarkedJaxpr,
    Severity,
    StageName,
    StageResult,
    Status,
    Verdict,
)
from tutor.tui.text import many

Phase = Literal["waiting", "running"] | Status

LETTERS: Mapping[AccessKind, str] = {
    "load": "L",
    "store": "S",
    "accumulate": "A",
    "copy_start": "C",
    "copy_wait": "W",
    "semaphore": "#",
}
KINDS: Mapping[str, AccessKind] = {letter: kind for kind, letter in LETTERS.items()}
MIB = 1 << 20
_SEVERITIES = ("error", "warning", "note")


@dataclass(frozen=True)
class Trace:
    """The last trace that worked, and the lines that it was made from. `facts` are those of every case."""

    lines: tuple[str, ...]
    kernels: tuple[Kernel, ...]
    jaxpr: MarkedJaxpr
    facts: tuple[CaseFacts, ...] = ()


@dataclass(frozen=True)
class Run:
    """One check as far as it is known. `trouble` is set when the tutor itself failed."""

    stages: tuple[StageName, ...] = STAGES
    lines: tuple[str, ...] = ()
    running: bool = False
    cancelled: bool = False
    started: frozenset[StageName] = frozenset()
    results: Mapping[StageName, StageResult] = field(default_factory=lambda: MappingProxyType({}))
    cases: Mapping[StageName, tuple[CaseResult, ...]] = field(default_factory=lambda: MappingProxyType({}))
    trace: Trace | None = None
    lowered: Lowered | None = None
    verdict: Verdict | None = None
    trouble: str | None = None

    @property
    def passed(self) -> bool:
        return self.verdict is not None and self.verdict.passed


def advance(run: Run, event: Event) -> Run:
    """`run` after one more event."""
    match event:
        case StageStarted(name):
            return replace(run, started=run.started | {name})
        case CaseFinished(stage, known):
            told = (*run.cases.get(stage, ()), known)
            return replace(run, cases=MappingProxyType({**run.cases, stage: told}))
        case StageFinished(result):
            return replace(run, results=MappingProxyType({**run.results, result.name: result}))
        case KernelsTraced(kernels, jaxpr, facts):
            return replace(run, trace=Trace(run.lines, tuple(kernels), jaxpr, facts))
        case Lowered():
            return replace(run, lowered=event)
        case CheckFinished(verdict):
            results = MappingProxyType({**run.results, **{stage.name: stage for stage in verdict.stages}})
            asked = tuple(stage.name for stage in verdict.stages)  # a predict exercise has two only
            return replace(run, stages=asked, verdict=verdict, results=results, running=False)


# ---------------------------------------------------------------- the ladder


@dataclass(frozen=True)
class Rung:
    """One line of the ladder."""

    name: StageName
    phase: Phase
    seconds: float
    remark: str
    unreferenced: bool = False


def ladder(run: Run) -> list[tuple[str, list[Rung]]]:
    """The stages that are asked, under their questions."""
    questions = PREDICT_QUESTIONS if run.stages == PREDICT_STAGES else QUESTIONS
    asked = [
        (question, [_rung(run, name) for name in names if name in run.stages]) for question, names in questions.items()
    ]
    return [(question, rungs) for question, rungs in asked if rungs]


def answer(question: str, rungs: Sequence[Rung]) -> Phase:
    """One word for a question: the worst that its stages say. A stage that is not even asked is as if unavailable."""
    phases = {rung.phase for rung in rungs}
    order: tuple[Phase, ...] = ("failed", "error", "running", "waiting", "skipped", "unavailable")
    complete = {rung.name for rung in rungs} >= set(QUESTIONS.get(question, ()))
    return next((phase for phase in order if phase in phases), "passed" if complete else "unavailable")


def in_words(question: str, rungs: Sequence[Rung]) -> str:
    """What the stages of a question answer: a question that was not asked of every stage is never a plain yes."""
    said = answer(question, rungs)
    if said in ("skipped", "unavailable"):
        return "not all asked" if any(rung.phase == "passed" for rung in rungs) else "not asked"
    if said == "passed" and any(rung.unreferenced for rung in rungs):
        return "no reference"
    return {"passed": "yes", "failed": "no", "error": "not known"}.get(said, "")


def _rung(run: Run, name: StageName) -> Rung:
    result = run.results.get(name)
    if result is None:
        running = run.running and name in run.started
        known = run.cases.get(name, ())
        return Rung(name, "running" if running else "waiting", 0.0, _so_far(known) if running else "")
    unreferenced = any(found.code == UNREFERENCED for found in result.findings)
    return Rung(name, result.status, result.seconds, _remark(run, result), unreferenced)


def _so_far(known: Sequence[CaseResult]) -> str:
    """What the cases of a running stage have said."""
    bad = sum(case.status != "passed" for case in known)
    if not known:
        return ""
    return f"{many(bad, 'case')} wrong so far" if bad else f"{many(len(known), 'case')} right so far"


def _remark(run: Run, result: StageResult) -> str:
    estimate = short_estimate(run.verdict.compile) if result.name == "device" and run.verdict else None
    if estimate and result.status == "unavailable":
        return f"{result.reason or result.status}; {estimate}"
    if result.status not in ("passed", "failed"):
        return result.reason or result.status
    if result.name == "trace" and result.status == "passed" and run.trace:
        return counts(run.trace.kernels)
    if result.name == "compile" and run.verdict is not None:
        return vmem_use(run.verdict.compile)
    if result.cases:
        good = sum(case.status == "passed" for case in result.cases)
        return f"{good} of {many(len(result.cases), 'case')}"
    return ""


def vmem_use(compilations: Sequence[Compilation]) -> str:
    """`v5e 0.3 of 16 MiB, v6e no`: VMEM of the case that uses the most, for each chip."""
    words = []
    for use in by_chip(compilations):
        used, limit = (use.largest.vmem_bytes, use.largest.vmem_limit_bytes) if use.largest else (None, None)
        figures = f" {used / MIB:.1f} of {limit / MIB:.0f} MiB" if used is not None and limit else ""
        words.append(f"{use.chip}{figures}{' no' if use.failed else '' if figures else ' ok'}")
    return ", ".join(words)


def counts(kernels: Sequence[Kernel]) -> str:
    """`4 loads 2 stores 1 acc 1 copy`: what one grid step of all kernels does, leaving out what it does not do."""
    words = {"loads": "load", "stores": "store", "accumulates": "acc", "copies": "copy"}
    parts = []
    for name, word in words.items():
        numbers = [getattr(kernel, name) for kernel in kernels]
        total = None if None in numbers else sum(numbers)
        if total != 0:
            parts.append(many(total, word, "copies" if word == "copy" else "acc" if word == "acc" else None))
    return " ".join(parts)


def findings(run: Run) -> list[tuple[StageName, Finding]]:
    """Every finding: errors first, then in the order of the ladder, the same words only once."""
    found = [(name, finding) for name in STAGES if name in run.results for finding in run.results[name].findings]
    unique: dict[object, tuple[StageName, Finding]] = {}
    for name, finding in found:
        unique.setdefault((finding.code, finding.message, finding.line, finding.column), (name, finding))
    return sorted(unique.values(), key=lambda pair: _SEVERITIES.index(pair[1].severity))


def flags(run: Run) -> dict[int, Severity]:
    """The worst that was found on each source line."""
    worst: dict[int, Severity] = {}
    for _, finding in findings(run):
        if finding.line is not None:
            worst.setdefault(finding.line, finding.severity)
    return worst


# ---------------------------------------------------------------- source lines and the trace


@dataclass(frozen=True)
class Shift:
    """Where lines of the traced text are now, after edits: lines before and after the changed region still count.

    Lines are 1-based. `None` is the answer for a line inside the changed region."""

    head: int
    tail: int
    old: int
    new: int

    @classmethod
    def between(cls, old: Sequence[str], new: Sequence[str]) -> Shift:
        shorter = min(len(old), len(new))
        head = next((i for i in range(shorter) if old[i] != new[i]), shorter)
        tail = next((i for i in range(shorter - head) if old[-1 - i] != new[-1 - i]), shorter - head)
        return cls(head, tail, len(old), len(new))

    def now(self, line: int) -> int | None:
        """The current line of what was `line` in the traced text."""
        return _shifted(line, self.head, self.tail, self.old, self.new)

    def then(self, line: int) -> int | None:
        """The line in the traced text of what is `line` now."""
        return _shifted(line, self.head, self.tail, self.new, self.old)


def _shifted(line: int, head: int, tail: int, here: int, there: int) -> int | None:
    if line <= head:
        return line
    return line + there - here if here - tail < line <= here else None


def letters(kernels: Sequence[Kernel], width: int = 4) -> dict[int, str]:
    """For each source line, one letter an access in program order (`LLSA`), shortened to counts (`6LA`) to fit."""
    by_line: dict[int, tuple[int, str]] = {}
    for index, kernel in enumerate(kernels):
        for access in kernel.accesses:
            if access.line is not None:
                # A body that two kernels share is one piece of source: its letters are shown once.
                owner, text = by_line.get(access.line, (index, ""))
                if owner == index:
                    by_line[access.line] = (owner, text + LETTERS[access.kind])
    return {line: _short(text, width) for line, (_, text) in by_line.items()}


def _short(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    counted = "".join(
        letter if text.count(letter) == 1 else f"{text.count(letter)}{letter}" for letter in dict.fromkeys(text)
    )
    return counted if len(counted) <= width else counted[: width - 1] + "+"


def caused_by(jaxpr: MarkedJaxpr, source_line: int) -> int | None:
    """The first jaxpr line that `source_line` caused, accesses before anything else."""
    plain = None
    for index, line in enumerate(jaxpr.lines):
        if line.source_line == source_line:
            if line.kind is not None:
                return index
            plain = index if plain is None else plain
    return plain


def per_line(kernels: Sequence[Kernel], line: int) -> Iterator[str]:
    """Words for each access on a source line: `load x_ref`, `load x_ref ×4`."""
    tally: dict[str, int] = {}
    for kernel in kernels:
        for access in kernel.accesses:
            if access.line == line:
                words = f"{access.kind.replace('_', ' ')} {access.ref}"
                tally[words] = tally.get(words, 0) + 1
    return (words if count == 1 else f"{words} ×{count}" for words, count in tally.items())


# ---------------------------------------------------------------- the grid


def walkable(facts: Sequence[CaseFacts]) -> list[tuple[CaseFacts, KernelFacts]]:
    """The kernels that have a grid and at least one operand in blocks, with their cases."""
    return [
        (case, kernel)
        for case in facts
        for kernel in case.kernels
        if kernel.kernel.grid and any(operand.block_shape is not None for operand in kernel.kernel.operands)
    ]


def errors(run: Run) -> dict[str, CaseError]:
    """Where the results of failed cases are wrong, by case, as far as the judge has said."""
    result = run.results.get("interpret")
    known = result.cases if result is not None else run.cases.get("interpret", ())
    return {case.name: case.error for case in known if case.error is not None and case.error.by_block is not None}
