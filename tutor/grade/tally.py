"""Counting records: what the summary and the instructor's report say, without keeping a verdict."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from tutor.findings import page
from tutor.grade.records import STATUSES, Flag, GradeRecord, GradeStatus

MOST = 5
LOOK_AT: tuple[GradeStatus, ...] = ("suspicious", "infra_error", "unconfirmed", "timeout")
WORTH_A_LOOK = ("KT803", "KT804", "KT805", "KT806", "KT808", "KT809", "KT834", "KT835", "KT836", "KT837", "KT838")
"""Flags that an instructor is shown record by record."""


@dataclass(frozen=True)
class Line:
    """One record in short."""

    student: str
    exercise: str
    status: GradeStatus
    score: float
    flags: list[Flag]


@dataclass
class ExerciseTally:
    """One exercise: how many records of each status, the sum of scores, and what was found most."""

    statuses: Counter[str] = field(default_factory=Counter)
    score: float = 0.0
    findings: Counter[str] = field(default_factory=Counter)
    copies: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    @property
    def count(self) -> int:
        return sum(self.statuses.values())

    @property
    def mean(self) -> float:
        """The mean score."""
        return self.score / self.count if self.count else 0.0

    def most_frequent(self) -> list[tuple[str, str, int]]:
        """Codes, titles and numbers of students of the findings that most attempts have."""
        ranked = sorted(self.findings.items(), key=lambda item: (-item[1], item[0]))
        return [(code, page(code).title, count) for code, count in ranked[:MOST]]

    def same_files(self) -> list[list[str]]:
        """Students who handed in the same bytes, the largest groups first. Starters count as well."""
        groups = [sorted(students) for students in self.copies.values() if len(students) > 1]
        return sorted(groups, key=lambda group: (-len(group), group))


@dataclass
class StudentTally:
    """One student: scores in sum, and how many records of each status."""

    score: float = 0.0
    max_score: float = 0.0
    statuses: Counter[str] = field(default_factory=Counter)


class Tally:
    """Counts records, one by one. The exercises stand in the order of `slugs`."""

    def __init__(self, slugs: Iterable[str]) -> None:
        self.exercises: dict[str, ExerciseTally] = {slug: ExerciseTally() for slug in slugs}
        self.students: dict[str, StudentTally] = {}
        self.lines: list[Line] = []

    def add(self, record: GradeRecord) -> None:
        """Count one more record."""
        exercise = self.exercises.setdefault(record.exercise, ExerciseTally())
        exercise.statuses[record.status] += 1
        exercise.score += record.score
        exercise.findings.update(errors(record))
        if record.attempt_sha256:
            exercise.copies[record.attempt_sha256].append(record.student)
        student = self.students.setdefault(record.student, StudentTally())
        student.score += record.score
        student.max_score += record.max_score
        student.statuses[record.status] += 1
        flags = [flag for flag in record.flags if flag.code in WORTH_A_LOOK]
        if flags or record.status in LOOK_AT:
            self.lines.append(Line(record.student, record.exercise, record.status, record.score, record.flags))

    def total(self, status: GradeStatus) -> int:
        """How many records have this status."""
        return sum(exercise.statuses[status] for exercise in self.exercises.values())

    @property
    def present(self) -> list[GradeStatus]:
        """The statuses that occur, in order."""
        return [status for status in STATUSES if self.total(status)]


def errors(record: GradeRecord) -> set[str]:
    """The codes of all errors in a record's verdict."""
    stages = record.verdict.stages if record.verdict else ()
    return {found.code for stage in stages for found in stage.findings if found.severity == "error"}
