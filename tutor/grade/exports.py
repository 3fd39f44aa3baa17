"""What is made of the records: `grades.csv`, a file for every student, and the instructor's report."""

from __future__ import annotations

import csv
import io
from itertools import groupby
from pathlib import Path

import msgspec

from tutor.grade.instructor import page
from tutor.grade.journal import Journal
from tutor.grade.names import file_names
from tutor.grade.records import GradeRecord
from tutor.grade.seen import case_names, report
from tutor.grade.tally import Tally
from tutor.sets.loading import ExerciseSet
from tutor.sets.workspace import write_atomic

COLUMNS = (
    "student", "exercise", "status", "score", "max_score", "late_seconds", "tier", "set_sha256", "attempt_sha256",
)  # fmt: skip
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""A cell that begins with one of these may be run by a spreadsheet."""


def export(out: Path, journal: Journal, exercises: ExerciseSet, notes: list[str]) -> Tally:
    """Write all files that follow from the records, in one pass over them. `notes` are for the instructor's report."""
    tally = Tally(exercises.slugs)
    table = io.StringIO()
    rows = csv.writer(table, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    rows.writerow(COLUMNS)
    names = file_names({student for student, _ in journal.recorded()})
    cases = {exercise.slug: case_names(exercise) for exercise in exercises.exercises}
    for student, group in groupby(journal.records(), key=lambda record: record.student):
        records = list(group)
        for record in records:
            rows.writerow(row(record))
            tally.add(record)
        seen = msgspec.json.format(msgspec.json.encode(report(exercises, student, records, cases)), indent=1)
        write_atomic(out / "students" / f"{names[student]}.json", seen + b"\n")
    write_atomic(out / "grades.csv", table.getvalue().encode())
    write_atomic(out / "report.html", page(exercises, tally, names, notes).encode())
    return tally


def row(record: GradeRecord) -> list[str | float | int]:
    """One line of `grades.csv`. What is not known is an empty cell."""
    return [
        cell(record.student),
        cell(record.exercise),
        record.status,
        record.score,
        record.max_score,
        "" if record.late_seconds is None else record.late_seconds,
        record.tier,
        record.set_sha256,
        record.attempt_sha256 or "",
    ]


def cell(text: str) -> str:
    """Text that a spreadsheet takes for text: what looks like a formula gets a quote in front."""
    return f"'{text}" if text.lstrip().startswith(FORMULAS) or text.startswith(FORMULAS) else text
