"""The roster: a CSV file with one line a student. Only `student` is needed.

Columns: `student` (the id that records are written under), `submission` (the name of the folder, archive or file, if it
is not called after the student), `submitted_at` (a date with a time zone, for the late policy). Others are ignored."""

from __future__ import annotations

import csv
import datetime
import io
from pathlib import Path

from tutor.grade.names import readable
from tutor.protocol import Record
from tutor.sets.errors import SetError, did_you_mean

COLUMNS = ("student", "submission", "submitted_at")


class Enrolled(Record, frozen=True):
    """One line of the roster."""

    student: str
    submission: str | None = None
    submitted_at: datetime.datetime | None = None


class RosterError(SetError):
    """A roster that cannot be used; the message names the line."""

    code = "roster"


def read_roster(path: Path) -> list[Enrolled]:
    """The students of a roster, in its order. `RosterError` says which line is wrong."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise RosterError(f"{path}: the roster is not UTF-8 text.", "Save it as CSV in UTF-8.") from None
    except OSError as error:
        raise RosterError(f"{path}: cannot be read: {error.strerror}.") from None
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    try:
        rows = list(csv.DictReader(io.StringIO(text), delimiter=separator, skipinitialspace=True))
    except csv.Error as error:
        raise RosterError(f"{path}: is no CSV: {error}.") from None
    names = {(name or "").strip().lower(): name for name in (rows[0] if rows else {}) if isinstance(name, str)}
    if "student" not in names:
        found = [name for name in names if name]
        hint = f"Its first line must name the columns: {', '.join(COLUMNS)}. Found: {', '.join(found) or 'none'}."
        raise RosterError(f"{path}: there is no column `student`.", did_you_mean("student", found) or hint)
    enrolled: list[Enrolled] = []
    known: dict[str, int] = {}
    for line, row in enumerate(rows, start=2):
        cells = {name: (row.get(names[name]) or "").strip() if name in names else "" for name in COLUMNS}
        student = readable(cells["student"])
        if not student:
            continue
        if student in known:
            raise RosterError(f"{path}: line {line} and line {known[student]} are both of {student}.")
        known[student] = line
        when = _moment(path, line, cells["submitted_at"])
        enrolled.append(Enrolled(student, readable(cells["submission"]) or None, when))
    return enrolled


def moment(text: str) -> datetime.datetime | None:
    """A moment in ISO form with its time zone; None if it is none."""
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else None


def _moment(path: Path, line: int, text: str) -> datetime.datetime | None:
    if not text:
        return None
    found = moment(text)
    if found is None:
        hint = "Write it as 2030-01-31T23:59:00+01:00."
        raise RosterError(f"{path}: line {line}: `submitted_at` needs a date, a time and a time zone.", hint)
    return found
