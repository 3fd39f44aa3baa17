"""A verdict as plain terminal text. Pure: the same verdict, source, width and colour always give the same text.

What came from the learner's program (messages, names, output, source lines) is data: its control characters are
written out, so it can neither colour the text nor move the cursor.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tutor.cli.render_compile import compile_lines, speed_lines
from tutor.cli.render_kernels import kernel_lines, line_of_counts
from tutor.cli.text import cut, one_line, paint, plain, plural, wrap
from tutor.ladder.speed_words import short_estimate, timing_lines
from tutor.protocol import (
    PREDICT_QUESTIONS,
    PREDICT_STAGES,
    QUESTIONS,
    STAGES,
    UNREFERENCED,
    CaseResult,
    Finding,
    StageName,
    StageResult,
    Status,
    Timing,
    Verdict,
)

_MARKS: dict[Status, tuple[str, str]] = {
    "passed": ("ok", "green"),
    "failed": ("!!", "red"),
    "skipped": ("--", "dim"),
    "unavailable": ("--", "yellow"),
    "error": ("??", "magenta"),
}
_SEVERITY = {"error": "red", "warning": "yellow", "note": "cyan"}
_MOST_OUTPUT = 20
BROKEN_EXERCISE = "KT904"


def render_verdict(verdict: Verdict, *, source: str | None = None, width: int = 80, color: bool = False) -> str:
    """The whole verdict: the ladder by question, findings under their stage with the learner's line from `source`,
    what the kernels access, and what the attempt printed. Lines are at most `width` wide where words allow it."""
    width = max(width, 40)
    lines = list(_heading(verdict, color))
    # As Python counts lines: `str.splitlines` would also break at form feeds.
    source_lines = re.split(r"\r\n|\r|\n", source) if source is not None else []
    for question, names in questions_of(verdict).items():
        stages = [s for s in verdict.stages if s.name in names]
        if not stages:
            continue
        answer, colour = answer_of(stages, names, verdict.timing)
        estimate = short_estimate(verdict.compile) if "device" in names else None
        if estimate and answer == "not asked":
            answer = f"not asked; {estimate}"
        lines += ["", f"{paint(question, 'bold', color)}  {paint(answer, colour, color)}"]
        for stage in stages:
            lines += _stage(stage, verdict, source_lines, width, color)
    for kernel in verdict.kernels:
        lines += ["", *kernel_lines(kernel, width, color)]
    lines += _output(verdict.output, width, color)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def questions_of(verdict: Verdict) -> dict[str, tuple[StageName, ...]]:
    """The questions of this verdict, with their stages. A predict exercise has one of its own."""
    return PREDICT_QUESTIONS if tuple(s.name for s in verdict.stages) == PREDICT_STAGES else QUESTIONS


def answer_of(
    stages: Sequence[StageResult], names: Sequence[StageName], timing: Timing | None = None
) -> tuple[str, str]:
    """The answer to the question that the stages `names` answer, and its colour. Never green while one of them was
    not asked. About speed, the answer is the ratio."""
    status = {s.status for s in stages}
    if "failed" in status:
        return "no", "red"
    if "error" in status:
        return f"not known: {at_fault(stages)}", "magenta"
    if any(found.code == UNREFERENCED for stage in stages for found in stage.findings):
        return "not known: there is no reference() to compare with", "yellow"
    asked = sum(s.status == "passed" for s in stages)
    if not asked:
        return "not asked", "yellow"
    if timing is not None and "device" in names:
        colour = "green" if timing.ratio < 1.1 else "yellow"
        return f"{timing.ratio:.2f} times the reference's time", colour
    return ("yes", "green") if asked == len(names) else ("yes so far; not all was asked", "yellow")


def at_fault(stages: Sequence[StageResult]) -> str:
    """What the stages with an error blame: a broken exercise, or else the tutor."""
    codes = {found.code for stage in stages if stage.status == "error" for found in stage.findings}
    return "the exercise itself is broken" if codes == {BROKEN_EXERCISE} else "the tutor itself failed"


def _heading(verdict: Verdict, color: bool) -> Iterator[str]:
    name = one_line(verdict.exercise or verdict.attempt.path)
    partial = tuple(s.name for s in verdict.stages) not in (STAGES, PREDICT_STAGES)
    words = _partly(verdict.stages) if partial else "PASSED"
    word = paint(words, "green", color) if verdict.passed else paint("NOT PASSED", "red", color)
    score = "" if partial else f"  score {verdict.score:.2f}"
    yield f"{paint(name, 'bold', color)}  {word}{score}  {verdict.seconds:.1f} s"
    if verdict.exercise is not None:
        yield paint(one_line(verdict.attempt.path), "dim", color)


def _partly(stages: Sequence[StageResult]) -> str:
    """What a good run of some stages says: `--stage NAME` asks for those that NAME needs, and NAME is the last."""
    last = stages[-1] if stages else None
    said = f"{last.name} passed" if last and last.status == "passed" else "nothing failed"
    return f"{said}; the rest was not asked"


def _stage(stage: StageResult, verdict: Verdict, source: list[str], width: int, color: bool) -> Iterator[str]:
    mark, colour = _MARKS[stage.status]
    seconds = f"{stage.seconds:7.2f} s" if stage.status in ("passed", "failed") else ""
    note = cut(_note(stage, verdict), max(10, width - 16 - len(seconds)))
    row = f"  {mark} {stage.name:10} {note}"
    filled = row.ljust(width - len(seconds)) + seconds if seconds else row
    yield filled.replace(mark, paint(mark, colour, color), 1)
    findings = _unsaid(stage, verdict)
    if stage.reason and stage.status != "passed" and all(found.message != stage.reason for found in stage.findings):
        yield from wrap(stage.reason, width, "     ")
    if any(case.status == "failed" for case in stage.cases):
        for case in stage.cases:
            yield from _case(case, width, color)
    if stage.name == "compile":
        yield from compile_lines(verdict.compile, width)
    if stage.name == ("device" if any(s.name == "device" for s in verdict.stages) else "compile"):
        yield from speed_lines(verdict.compile, width)
    if stage.name == "device" and verdict.timing is not None:
        for line in timing_lines(verdict.timing):
            yield from wrap(line, width, "     ")
    for finding in findings:
        yield from _finding(finding, source, width, color)


def _unsaid(stage: StageResult, verdict: Verdict) -> list[Finding]:
    """The findings of a stage; a broken exercise, which every stage meets, is said by the first of them only."""
    before = verdict.stages[: verdict.stages.index(stage)]
    said = {found.message for other in before for found in other.findings if found.code == BROKEN_EXERCISE}
    return [found for found in stage.findings if found.code != BROKEN_EXERCISE or found.message not in said]


def _note(stage: StageResult, verdict: Verdict) -> str:
    """What stands beside the name of a stage."""
    if stage.status in ("skipped", "unavailable", "error"):
        return {"skipped": "skipped", "unavailable": "not available", "error": at_fault([stage])}[stage.status]
    if stage.name == "trace" and verdict.kernels:
        return line_of_counts(verdict.kernels)
    failed = sum(c.status == "failed" for c in stage.cases)
    if failed:
        return f"{failed} of {plural(len(stage.cases), 'case')} failed"
    return plural(len(stage.cases), "case") if stage.cases else ""


def _case(case: CaseResult, width: int, color: bool) -> Iterator[str]:
    mark, colour = _MARKS[case.status]
    yield f"     {paint(mark, colour, color)} {one_line(case.name)}"
    words = []
    error = case.error
    if case.status == "failed" and error is not None:
        if error.relative_l2 is not None:
            words.append(f"relative L2 error {error.relative_l2:.2g}")
        if error.max_abs is not None:
            words.append(f"largest error {error.max_abs:.2g}")
        if error.first_bad is not None:
            words.append(f"first at {error.first_bad}")
        if error.block is not None:
            words.append(f"block {error.block}")
        if error.grid_step is not None:
            words.append(f"grid step {error.grid_step}")
    if words:
        yield from wrap(", ".join(words), width, "        ")


def _finding(finding: Finding, source: list[str], width: int, color: bool) -> Iterator[str]:
    colour = _SEVERITY[finding.severity]
    where = f" (case {one_line(finding.case)})" if finding.case else ""
    yield f"     {paint(f'{finding.code} {finding.severity}', colour, color)}: {one_line(finding.title)}{where}"
    yield from wrap(finding.message, width, "       ")
    if finding.line is not None:
        yield from _excerpt(finding, source, width, color)
    if finding.hint:
        yield from wrap(f"What to do: {finding.hint}", width, "       ")
    if finding.raw:
        said = [line for line in plain(finding.raw).splitlines() if line.strip()]
        if said:
            # What a traceback says is on its last line.
            telling = said[-1] if said[0].startswith("Traceback") else said[0]
            more = f"  [{plural(len(said) - 1, 'more line')}]" if len(said) > 1 else ""
            yield paint("       " + cut(f"In full: {telling.strip()}", width - 7 - len(more)) + more, "dim", color)


def _excerpt(finding: Finding, source: list[str], width: int, color: bool) -> Iterator[str]:
    """The learner's line, with a mark under the column."""
    assert finding.line is not None
    if not 1 <= finding.line <= len(source):
        yield f"       line {finding.line}"
        return
    text = source[finding.line - 1].expandtabs(4)
    lead = f"       line {finding.line} | "
    yield paint(lead, "dim", color) + cut(plain(text), width - len(lead))
    column = finding.column
    if column is not None and 0 < column < width - len(lead) and plain(text) == text:
        shown = len(source[finding.line - 1][:column].expandtabs(4))
        yield paint(" " * (len(lead) - 2) + "| " + " " * shown + "^", "dim", color)


def _output(output: str, width: int, color: bool) -> list[str]:
    """What the attempt printed, as text."""
    printed = plain(output).rstrip("\n").splitlines()
    if not printed:
        return []
    lines = ["", paint("Printed by the attempt", "bold", color)]
    lines += [f"  {cut(line.expandtabs(4), width - 2)}" for line in printed[:_MOST_OUTPUT]]
    if len(printed) > _MOST_OUTPUT:
        lines.append(f"  … {plural(len(printed) - _MOST_OUTPUT, 'more line')}")
    return lines
