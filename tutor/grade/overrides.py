"""`overrides.toml`: what an instructor decides by hand. It wins over what was judged; what does not fit is said."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

import msgspec

from tutor.grade.points import MAX_SCORE
from tutor.grade.records import Flag, GradeRecord, GradeStatus
from tutor.sets.errors import ManifestError, Problem, did_you_mean
from tutor.sets.locate import line_of
from tutor.sets.manifest import Table
from tutor.sets.reading import read_manifest

FILE = "overrides.toml"


class Override(Table, frozen=True, kw_only=True):
    """One `[[override]]`: a status, a score or both, and why. `attempt_sha256`: it speaks of this file only."""

    student: str
    exercise: str
    status: GradeStatus | None = None
    score: float | None = None
    reason: str
    attempt_sha256: str | None = None


class OverrideFile(Table, frozen=True, kw_only=True):
    """The whole file."""

    overrides: tuple[Override, ...] = msgspec.field(name="override", default=())


class Overrides:
    """The overrides of one run, by student and exercise. `lines`: where each begins in the file, if that is known."""

    def __init__(self, entries: Sequence[Override] = (), lines: Sequence[int | None] = ()) -> None:
        self._of: defaultdict[tuple[str, str], list[Override]] = defaultdict(list)
        self._places = list(zip_longest(entries, lines))
        for entry in entries:
            self._of[entry.student, entry.exercise].append(entry)

    def __len__(self) -> int:
        return len(self._places)

    def apply(self, record: GradeRecord, *, worth: float = 1.0) -> GradeRecord:
        """The record as the instructor wants it. `worth`: what lateness leaves of a score that follows from a status.

        An override of another attempt, and two that contradict each other, change nothing and are flagged."""
        mine = self._of.get(record.key, [])
        fitting = [one for one in mine if one.attempt_sha256 in (None, record.attempt_sha256)]
        stale = [one for one in mine if one not in fitting]
        flags = [Flag("KT835", "A manual override speaks of another attempt.", _said(one)) for one in stale]
        decisions = {(one.status, one.score) for one in fitting}
        if len(decisions) > 1:
            said = "\n".join(_said(one) for one in fitting)
            flags.append(Flag("KT836", "Manual overrides contradict each other.", said))
        elif fitting:
            return _decided(record, fitting[0], flags, worth)
        return msgspec.structs.replace(record, flags=[*record.flags, *flags])

    def misses(self, known: Collection[tuple[str, str]]) -> Iterator[str]:
        """What to say of every override that there is no record for, with the name that was meant."""
        students = {student for student, _ in known}
        for number, (entry, line) in enumerate(self._places, start=1):
            if (entry.student, entry.exercise) in known:
                continue
            place = f"{FILE}:{line}" if line else FILE
            if entry.student not in students:
                wrong, meant = f'student "{entry.student}"', did_you_mean(entry.student, sorted(students))
            else:
                slugs = sorted({slug for student, slug in known if student == entry.student})
                wrong, meant = f'exercise "{entry.exercise}"', did_you_mean(entry.exercise, slugs)
            yield f"{place}: override {number} is left out: there is no {wrong}. {meant or ''}".rstrip()

    def is_set(self, key: tuple[str, str]) -> bool:
        """Whether anything is decided by hand here."""
        return key in self._of


def read_overrides(out: Path) -> Overrides:
    """The overrides in OUT; none if there is no file. `ManifestError` says which line is wrong."""
    path = out / FILE
    if not path.is_file():
        return Overrides()
    try:
        read, text = read_manifest(path, OverrideFile)
    except ManifestError as error:
        raise ManifestError(path, [_counted(problem) for problem in error.problems]) from None
    problems = [
        replace(problem, line=line_of(text, problem.key))
        for number, entry in enumerate(read.overrides)
        for problem in _problems(("override", number), entry)
    ]
    if problems:
        raise ManifestError(path, [_counted(problem) for problem in problems])
    return Overrides(read.overrides, [line_of(text, ("override", number)) for number in range(len(read.overrides))])


def _counted(problem: Problem) -> Problem:
    """With the entry's number as people count: "override 1" is the first."""
    match problem.key:
        case ("override", int(number), *rest):
            return replace(problem, key=(f"override {number + 1}", *rest))
    return problem


def _problems(key: tuple[str | int, ...], entry: Override) -> list[Problem]:
    found: list[Problem] = []
    if entry.status is None and entry.score is None:
        found.append(Problem(key, f"for {entry.student} gives neither a status nor a score."))
    if entry.status == "partial" and entry.score is None:
        found.append(Problem((*key, "score"), 'is missing: "partial" does not say how much.'))
    if entry.score is not None and not 0 <= entry.score <= MAX_SCORE:
        found.append(Problem((*key, "score"), f"must be a number from 0 to {MAX_SCORE:g}."))
    if not entry.reason.strip():
        found.append(Problem((*key, "reason"), "must say why."))
    return found


def _decided(record: GradeRecord, by: Override, flags: list[Flag], worth: float) -> GradeRecord:
    score = by.score
    if score is None:
        score = round(record.max_score * worth, 4) if by.status == "passed" else 0.0
    status = by.status or ("passed" if score == record.max_score else "partial" if score else "failed")
    was = f"{by.reason.strip()}\nIt was {record.status} with {record.score:g}."
    flag = Flag("KT834", "Set by the instructor.", was)
    return msgspec.structs.replace(record, status=status, score=score, flags=[*record.flags, flag, *flags])


def _said(one: Override) -> str:
    decided = ", ".join(str(part) for part in (one.status, one.score) if part is not None)
    return f"{decided}: {one.reason.strip()}"
