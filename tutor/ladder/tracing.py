"""`load` and `trace`: one run answers both."""

from __future__ import annotations

from dataclasses import dataclass, field

from tutor.findings import finding
from tutor.ladder.endings import ending, without_last_words
from tutor.ladder.runs import TRACE_LIMITS, Failed, Runs
from tutor.ladder.subject import Subject
from tutor.ladder.verdict import stage_result
from tutor.protocol import CaseFacts, CaseResult, Finding, Kernel, MarkedJaxpr, StageName, StageResult
from tutor.wire import Broken, Ended, Loaded, Traced, TraceJob


@dataclass
class Tracing:
    """What the trace run found: both stages' results, and the facts of every case that traced."""

    load: StageResult = field(default_factory=lambda: stage_result("load", status="error"))
    trace: StageResult = field(default_factory=lambda: stage_result("trace", status="error"))
    facts: dict[str, CaseFacts] = field(default_factory=dict)
    marked: MarkedJaxpr | None = None

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels of the first case that traced, in program order."""
        first = next(iter(self.facts.values()), None)
        return [kernel.kernel for kernel in first.kernels] if first else []


async def trace_stages(runs: Runs, *, whole: bool = False) -> Tracing:
    """Load the attempt and trace every case. `whole`: the marked jaxpr shows the whole program."""
    subject = runs.subject
    values = await runs.index_values()
    traced = Tracing()
    loaded: Loaded | None = None
    findings: list[Finding] = []
    cases: list[CaseResult] = []
    seconds = 0.0
    ended: Ended | None = None
    async for answer in runs.ask(
        runs.stage, TraceJob(subject.attempt, subject.cases, values, TRACE_LIMITS, whole, subject.chips[0])
    ):
        if isinstance(answer, Loaded):
            loaded = answer
        elif isinstance(answer, Traced):
            findings += answer.findings
            seconds += answer.seconds
            cases.append(CaseResult(answer.case, "failed" if answer.facts is None else "passed"))
            if answer.facts is not None:
                traced.facts[answer.case] = answer.facts
            traced.marked = traced.marked or answer.marked
        elif isinstance(answer, Broken):
            raise Failed(answer)
        elif isinstance(answer, Ended):
            ended = answer
    runs.printed += without_last_words(ended.printed) if ended else ""
    whole = loaded is not None and (bool(loaded.findings) or len(cases) == len(subject.cases))
    stopped = [] if whole or ended is None else [_ended(ended, "load" if loaded is None else "trace", subject)]
    if ended is not None and len(ended.printed.encode()) >= TRACE_LIMITS.output_bytes:
        findings.append(_printed_much())
    traced.load = stage_result(
        "load", stopped if loaded is None else loaded.findings, seconds=loaded.seconds if loaded else 0.0
    )
    traced.trace = stage_result("trace", [*findings, *(stopped if loaded else [])], cases, seconds=seconds)
    return traced


def _printed_much() -> Finding:
    kept = TRACE_LIMITS.output_bytes // 1024
    message = f"The program printed more than {kept:,} KiB while it was loaded and traced. The rest is thrown away."
    hint = "Print shapes or single numbers. A `print` in a kernel runs while it is traced, and shows tracers."
    return finding("KT127", message, severity="note", hint=hint)


def _ended(ended: Ended, stage: StageName, subject: Subject) -> Finding:
    return ending(ended, stage, wall_seconds=TRACE_LIMITS.wall_seconds, path=subject.attempt.path)
