"""The roster: a CSV file with one line a student. Only `student` is needed.

Columns: `student` (the id that records are written under), `submission` (the name of the folder, archive or file, if it
is not called after the student), `submitted_at` (a date with a time zone, for the late policy). Others are not read,
but named; one that is nearly called so is refused: a slip in `submitted_at` would forgive all lateness."""

from __future__ import annotations

import csv
import datetime
import io
from dataclasses import dataclass
from pathlib import Path

from tutor.grade.names import readable
from tutor.protocol import Record
from tutor.sets.errors import SetError, did_you_mean, nearest

COLUMNS = ("student", "submission", "submitted_at")


class Enrolled(Record, frozen=True):
    """One line of the roster."""

    student: str
    submission: str | None = None
    submitted_at: datetime.datetime | None = None


@dataclass(frozen=True)
class Roster:
    """Who is in the class, in the order of the file, and the names of the columns that were not read."""

    enrolled: list[Enrolled]
    unread: list[str]


class RosterError(SetError):
    """A roster that cannot be used; the message names the line."""

    code = "roster"


def read_roster(path: Path) -> Roster:
    """The students of a roster, in its order. `RosterError` says which line or column is wrong."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise RosterError(f"{path}: the roster is not UTF-8 text.", "Save it as CSV in UTF-8.") from None
    except OSError as error:
        raise RosterError(f"{path}: cannot be read: {error.strerror}.") from None
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    try:
        reader = csv.DictReader(io.StringIO(text), delimiter=separator, skipinitialspace=True)
        rows = list(reader)
    except csv.Error as error:
        raise RosterError(f"{path}: is no CSV: {error}.") from None
    names = {name.strip().lower(): name for name in reader.fieldnames or ()}
    if "student" not in names:
        found = [name for name in names if name]
        hint = f"Its first line must name the columns: {', '.join(COLUMNS)}. Found: {', '.join(found) or 'none'}."
        raise RosterError(f"{path}: there is no column `student`.", did_you_mean("student", found) or hint)
    unread = [name for name in names if name and name not in COLUMNS]
    _no_slips(path, unread, [name for name in COLUMNS if name not in names])
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
    return Roster(enrolled, [readable(name) for name in unread])


def _no_slips(path: Path, unread: list[str], absent: list[str]) -> None:
    """`RosterError` for a column whose name is nearly that of one that is not there."""
    for name in unread:
        if (meant := nearest(name, absent)) is not None:
            hint = f'Did you mean "{meant}"? Name it so, or take the column out.'
            raise RosterError(f'{path}: line 1: there is no column "{readable(name)}".', hint)


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
