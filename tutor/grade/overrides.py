"""`overrides.toml`: what an instructor decides by hand. It wins over what was judged; what does not fit is said."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from pathlib import Path

import msgspec

from tutor.grade.points import MAX_SCORE
from tutor.grade.records import Flag, GradeRecord, GradeStatus
from tutor.sets.errors import ManifestError, Problem
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
    """The overrides of one run, by student and exercise."""

    def __init__(self, entries: Collection[Override] = ()) -> None:
        self._of: defaultdict[tuple[str, str], list[Override]] = defaultdict(list)
        for entry in entries:
            self._of[entry.student, entry.exercise].append(entry)

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

    def unknown(self, known: Collection[tuple[str, str]]) -> list[Override]:
        """Overrides of students or exercises that there are no records of."""
        return [entry for key, entries in self._of.items() if key not in known for entry in entries]

    def is_set(self, key: tuple[str, str]) -> bool:
        """Whether anything is decided by hand here."""
        return key in self._of


def read_overrides(out: Path) -> Overrides:
    """The overrides in OUT; none if there is no file. `ManifestError` says which line is wrong."""
    path = out / FILE
    if not path.is_file():
        return Overrides()
    read, _ = read_manifest(path, OverrideFile)
    problems = [
        problem for number, entry in enumerate(read.overrides) for problem in _problems(("override", number), entry)
    ]
    if problems:
        raise ManifestError(path, problems)
    return Overrides(read.overrides)


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
