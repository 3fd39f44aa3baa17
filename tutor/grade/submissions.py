"""Who handed in what: the entries of FOLDER, given to students, and read when their turn comes."""

from __future__ import annotations

import datetime
import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal

from tutor.grade.files import LIMITS, Contents, File, Unreadable, read_archive, read_folder, read_regular
from tutor.grade.names import ARCHIVES, Slugs, is_archive, is_junk, readable, without_suffix
from tutor.grade.records import Flag
from tutor.grade.roster import Enrolled
from tutor.sets.errors import SetError
from tutor.sets.loading import ExerciseSet
from tutor.sets.submission import MANIFEST, doubts

SEPARATOR = "__"
"""Between the student and the exercise in the name of a single file: `ada__row_sums.py`."""

Kind = Literal["folder", "archive", "file", "other"]


@dataclass(frozen=True)
class Entry:
    """One entry of FOLDER. `slug`: the exercise of a single file. `other`: something that nobody can read."""

    path: Path
    kind: Kind
    slug: str | None = None


@dataclass
class Submission:
    """What one student handed in, not read yet. A student of the roster may have handed in nothing."""

    student: str
    entries: list[Entry] = field(default_factory=list)
    enrolled: Enrolled | None = None


@dataclass(frozen=True)
class Attempt:
    """The file that is judged, or why there is none to judge."""

    source: bytes | None
    flags: list[Flag]


@dataclass(frozen=True)
class Received:
    """What was read from one submission: an attempt at every exercise, and what is to be said of the whole."""

    attempts: dict[str, Attempt]
    flags: list[Flag]
    submitted_at: datetime.datetime | None


@dataclass(frozen=True)
class Class:
    """All submissions, by student in order; entries of FOLDER that are nobody's; entries that only the roster knows."""

    submissions: list[Submission]
    strays: list[str]
    missing: list[str]


def find_class(folder: Path, roster: Sequence[Enrolled] | None, slugs: Slugs) -> Class:
    """Everybody in FOLDER and in the roster. Nothing is read yet."""
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        raise SetError(f"{folder} cannot be read: {error.strerror}.", "FOLDER holds one entry a student.") from None
    named = {row.submission: row for row in roster or () if row.submission}
    students = {row.student: row for row in roster or ()}
    found: dict[str, Submission] = {row.student: Submission(row.student, enrolled=row) for row in roster or ()}
    strays: list[str] = []
    missing = set(named)
    for item in entries:
        if is_junk(PurePosixPath(item.name)):
            continue
        shown = readable(item.name)
        told = _entry(item, slugs)
        if told is None:
            strays.append(shown)
            continue
        student, entry = told
        missing -= {shown, student}
        row = named.get(shown) or named.get(student) or students.get(student)
        who = row.student if row else student
        found.setdefault(who, Submission(who)).entries.append(entry)
    return Class([found[student] for student in sorted(found)], strays, sorted(missing))


def _entry(item: os.DirEntry[str], slugs: Slugs) -> tuple[str, Entry] | None:
    """The student that an entry is called after, and the entry; None if it is no submission."""
    path = Path(item.path)
    stem = readable(without_suffix(item.name))
    if item.is_symlink():
        return stem, Entry(path, "other")
    if item.is_dir(follow_symlinks=False):
        return readable(item.name), Entry(path, "folder")
    if not item.is_file(follow_symlinks=False):
        return stem, Entry(path, "other")
    if is_archive(item.name):
        return stem, Entry(path, "archive" if is_archive(item.name, ARCHIVES) else "other")
    if not item.name.lower().endswith(".py"):
        return None
    student, separator, rest = stem.rpartition(SEPARATOR)
    slug = slugs.of(f"{rest}.py")
    if separator and student and slug:
        return student, Entry(path, "file", slug)
    if len(slugs.slugs) == 1 and slugs.of(item.name) is None:
        return stem, Entry(path, "file", slugs.slugs[0])
    return None


def read(submission: Submission, exercises: ExerciseSet, *, rostered: bool) -> Received:
    """Read one submission. `rostered`: there is a roster, so who is not on it is a remark."""
    slugs = Slugs(exercises.slugs)
    flags: list[Flag] = []
    files: defaultdict[str, list[File]] = defaultdict(list)
    for entry in submission.entries:
        contents = _contents(entry, slugs, flags)
        flags += contents.flags()
        handed_in = {str(file.name): file.data for file in contents.files if file.data is not None}
        for doubt in doubts(handed_in, exercises, submission.student):
            flags.append(Flag(doubt.code, doubt.message, doubt.evidence and readable(doubt.evidence)))
        for file in contents.files:
            slug = entry.slug or slugs.of(file.name.name)
            if slug is not None:
                files[slug].append(file)
    if len({entry.path for entry in submission.entries if entry.kind != "file"}) > 1:
        entries = ", ".join(readable(entry.path.name) for entry in submission.entries)
        flags.append(Flag("KT808", "There are several submissions; all were read.", entries))
    if rostered and submission.enrolled is None:
        flags.append(Flag("KT807", "Not on the roster."))
    attempts = {slug: _chosen(files[slug]) for slug in slugs.slugs}
    return Received(attempts, flags, submission.enrolled.submitted_at if submission.enrolled else None)


def _contents(entry: Entry, slugs: Slugs, flags: list[Flag]) -> Contents:
    def wanted(name: PurePosixPath) -> bool:
        return slugs.of(name.name) is not None or str(name) == MANIFEST

    shown = readable(entry.path.name)
    try:
        if entry.kind == "folder":
            return read_folder(entry.path, wanted)
        if entry.kind == "archive":
            return read_archive(entry.path, wanted)
        if entry.kind == "file":
            one = Contents()
            one.add(PurePosixPath(entry.path.name), None, lambda: read_regular(entry.path, LIMITS.file_bytes))
            return one
        raise Unreadable("It is no folder, no zip or tar archive and no Python file.")
    except Unreadable as error:
        flags.append(Flag("KT805", f"The submission cannot be read. {error}", shown))
        return Contents()


def _chosen(files: list[File]) -> Attempt:
    """One file of several for one exercise: one that can be read, near the top, in small letters, first by name."""
    if not files:
        return Attempt(None, [Flag("KT802", "There is no file for this exercise.")])
    ranked = sorted(files, key=_rank)
    best = ranked[0]
    flags: list[Flag] = []
    if len({file.data for file in ranked}) > 1:
        listed = "\n".join(readable(str(file.name)) for file in ranked[:20])
        message = f"There are several different files for this exercise; {readable(best.name.name)} was judged."
        flags.append(Flag("KT803", message, f"In order of choice:\n{listed}"))
    if best.data is None:
        flags.append(Flag("KT804", f"The file cannot be read. {best.problem}", readable(str(best.name))))
    return Attempt(best.data, flags)


def _rank(file: File) -> tuple[bool, int, bool, str]:
    name = file.name.name
    return file.data is None, len(file.name.parts), name != name.lower(), str(file.name)
