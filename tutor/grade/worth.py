"""What of all records an instructor should look at, doubts first; and what need only be counted.

A remark on a whole submission stands in each of its records and is told once. What is true of most records (no TPU, no
file) is counted. So every flag of every record is either in a line or counted."""

from __future__ import annotations

from dataclasses import dataclass, field

from tutor.grade.records import Flag, GradeRecord, GradeStatus

DOUBTS = ("KT855", "KT853", "KT851", "KT852", "KT850", "KT854")
"""The submission does not agree with its own manifest, or with the set: the weightiest first."""
FILES = ("KT805", "KT804", "KT803", "KT808", "KT806", "KT841")
WHOLE = (*DOUBTS, "KT805", "KT806", "KT808", "KT841")
"""These speak of a whole submission."""
REACHES = "KT871"
BY_HAND = ("KT834", "KT835", "KT836", "KT837", "KT838")
COUNTED = ("KT800", "KT801", "KT802", "KT807", "KT809")
GROUPS = (
    "The submission does not agree with its manifest",
    "Suspicious",
    "Could not be judged",
    "Right, and worth nothing because it was late",
    "The file reaches for what no exercise needs",
    "Not confirmed, or out of time",
    "Decided by hand, or an earlier result stands",
    "Files",
)


@dataclass(frozen=True)
class Line:
    """One record in short; without an `exercise`, a status and a score, one whole submission.

    `group`: the place of its heading in `GROUPS`."""

    group: int
    student: str
    exercise: str | None
    status: GradeStatus | None
    score: float | None
    flags: tuple[Flag, ...]


@dataclass
class Counted:
    """A remark in these words: on how many records, and of whom."""

    records: int = 0
    students: dict[str, None] = field(default_factory=dict)


class Worth:
    """Takes records, one by one."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.counted: dict[tuple[str, str], Counted] = {}
        self._told: set[tuple[str, Flag]] = set()

    def add(self, record: GradeRecord) -> None:
        """One more record. Every flag of it is told or counted."""
        for flag in record.flags:
            if flag.code in WHOLE and (record.student, flag) not in self._told:
                self._told.add((record.student, flag))
                heading = 0 if flag.code in DOUBTS else GROUPS.index("Files")
                self.lines.append(Line(heading, record.student, None, None, None, (flag,)))
        mine = [flag for flag in record.flags if flag.code not in WHOLE]
        group = _group(record)
        if group is not None:
            told = tuple(flag for flag in mine if flag.code not in COUNTED)
            self.lines.append(Line(group, record.student, record.exercise, record.status, record.score, told))
        for flag in mine:
            if group is None or flag.code in COUNTED:
                counted = self.counted.setdefault((flag.code, flag.message), Counted())
                counted.records += 1
                counted.students[record.student] = None

    def groups(self) -> list[tuple[str, list[Line]]]:
        """The lines under their headings, the most urgent first; headings without lines are left out."""
        ranked = sorted(self.lines, key=lambda line: (line.group, _weight(line)))
        by_title = [(title, [line for line in ranked if line.group == place]) for place, title in enumerate(GROUPS)]
        return [(title, lines) for title, lines in by_title if lines]

    def remarks(self) -> list[tuple[str, str, Counted]]:
        """Codes, words and counts of what is only counted."""
        return [(code, message, counted) for (code, message), counted in sorted(self.counted.items())]


def _group(record: GradeRecord) -> int | None:
    codes = {flag.code for flag in record.flags}
    if record.status in ("suspicious", "infra_error"):
        return 1 if record.status == "suspicious" else 2
    if record.status in ("passed", "partial") and not record.score and "KT839" in codes:
        return 3
    if REACHES in codes:
        return 4
    if record.status in ("unconfirmed", "timeout"):
        return 5
    if codes.intersection(BY_HAND):
        return 6
    return 7 if codes.intersection(FILES) - set(WHOLE) else None


def _weight(line: Line) -> int:
    """Where a line stands in its group: by the weight of its code; the order of the records stays."""
    order = (*DOUBTS, *FILES)
    return min((order.index(flag.code) for flag in line.flags if flag.code in order), default=len(order))
