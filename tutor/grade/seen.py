"""What a student may see of a record. Everything that hidden cases could have told is left out, not blacked out.

The process that traces an attempt has to be told the sizes of all cases, so whatever the attempt printed, raised or
named may be these sizes. Where a set has hidden cases, a finding is therefore told in full only if its words are the
judge's own and are about a public case; of the others a student sees code, title, place and case. `check` tells the
rest: it knows of no hidden case."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from tutor.findings import page
from tutor.grade.records import GradeRecord, HiddenCases, SeenExercise, StudentReport
from tutor.protocol import Finding, StageResult
from tutor.sets.exercise import Exercise
from tutor.sets.loading import ExerciseSet

ACROSS = ("KT203", "KT214")
"""These compare all cases, the hidden ones too, with their names and sizes."""
THE_JUDGES = ("KT201", "KT202", "KT210", "KT211")
"""Findings about numbers, which are worded where no attempt's Python runs."""
FOR_THE_INSTRUCTOR = ("KT807", "KT835", "KT836", "KT837", "KT838", "KT871", "KT394")


@dataclass(frozen=True)
class CaseNames:
    """The cases of an exercise."""

    public: frozenset[str]
    hidden: frozenset[str]


def case_names(exercise: Exercise) -> CaseNames:
    """The names of an exercise's cases."""
    public = frozenset(case.name for case in exercise.cases())
    return CaseNames(public, frozenset(case.name for case in exercise.cases(hidden=True)) - public)


NONE = CaseNames(frozenset(), frozenset())


def report(
    exercises: ExerciseSet, student: str, records: Iterable[GradeRecord], cases: Mapping[str, CaseNames]
) -> StudentReport:
    """All that one student may see. `cases` by slug."""
    seen = [_exercise(exercises, record, cases.get(record.exercise, NONE)) for record in records]
    return StudentReport(
        set=exercises.id,
        student=student,
        score=round(sum(one.score for one in seen), 4),
        max_score=round(sum(one.max_score for one in seen), 4),
        exercises=seen,
    )


def _exercise(exercises: ExerciseSet, record: GradeRecord, cases: CaseNames) -> SeenExercise:
    stages = record.verdict.stages if record.verdict else []
    titles = {exercise.slug: exercise.title for exercise in exercises.exercises}
    return SeenExercise(
        exercise=record.exercise,
        title=titles.get(record.exercise, record.exercise),
        status=record.status,
        score=record.score,
        max_score=record.max_score,
        submitted_at=record.submitted_at,
        late_seconds=record.late_seconds,
        attempt_sha256=record.attempt_sha256,
        stages=[_stage(stage, cases) for stage in stages],
        hidden_cases=[told for stage in stages if (told := _hidden(stage, cases.hidden))],
        remarks=[
            msgspec.structs.replace(flag, evidence=None) for flag in record.flags if flag.code not in FOR_THE_INSTRUCTOR
        ],
        in_words=[words for stage in stages if (words := _in_words(stage, cases))],
    )


def _stage(stage: StageResult, cases: CaseNames) -> StageResult:
    shown = [case for case in stage.cases if case.name in cases.public]
    return StageResult(stage.name, stage.status, 0.0, None, list(_findings(stage, cases)), shown)


def _findings(stage: StageResult, cases: CaseNames) -> Iterator[Finding]:
    for found in stage.findings:
        if found.case in cases.hidden or (cases.hidden and found.code in ACROSS):
            continue
        if not cases.hidden or (found.case in cases.public and stage.name == "interpret" and found.code in THE_JUDGES):
            yield msgspec.structs.replace(found, raw=None)
        elif found.case in cases.public or stage.name == "load":
            yield _bare(found, line=found.line, column=found.column, case=found.case)
        else:
            yield _bare(found)


def _bare(found: Finding, **more: Any) -> Finding:
    """A finding without any word that the attempt may have chosen."""
    return Finding(found.code, found.severity, page(found.code).title, "", **more)


def _in_words(stage: StageResult, cases: CaseNames) -> str | None:
    """What a student reads of hidden cases that failed: where all public ones passed, nothing else would say it."""
    hidden = _hidden(stage, cases.hidden)
    if hidden is None or not hidden.failed:
        return None
    blamed = any(found.severity == "error" and found.case not in cases.hidden for found in stage.findings)
    public = [case.status for case in stage.cases if case.name in cases.public]
    count = "1 hidden case" if hidden.failed == 1 else f"{hidden.failed} hidden cases"
    beside = "; all public ones passed." if not blamed and "failed" not in public else "."
    return f"{count} of {stage.name} failed{beside}"


def _hidden(stage: StageResult, hidden: Collection[str]) -> HiddenCases | None:
    mine = [case for case in stage.cases if case.name in hidden]
    blamed = {found.case for found in stage.findings if found.severity == "error" and found.case in hidden}
    failed = {case.name for case in mine if case.status == "failed"} | blamed
    return HiddenCases(stage.name, len(failed), len(mine) or len(hidden)) if mine or failed else None
