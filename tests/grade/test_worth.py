"""What an instructor is shown first, what is told once, and what is only counted: nothing is left out."""

from __future__ import annotations

from tests.grade.test_journal import record
from tutor.grade.records import Flag, GradeRecord
from tutor.grade.worth import GROUPS, Worth

NO_TPU = Flag("KT800", "Not run on a TPU.")
NO_FILE = Flag("KT802", "There is no file for this exercise.")
OTHER_ID = Flag("KT855", "Another student's id.", "it says eve")
OTHER_SET = Flag("KT854", "Another version of the set.")
LATE = Flag("KT839", "Late: after the close.")


def worth(*records: GradeRecord) -> Worth:
    made = Worth()
    for one in records:
        made.add(one)
    return made


def test_doubts_come_first_and_in_order() -> None:
    made = worth(
        record("a", flags=[NO_TPU, Flag("KT803", "Several.", "x")]),
        record("b", status="infra_error", score=0.0, verdict=None),
        record("c", score=0.0, flags=[NO_TPU, LATE]),
        record("d", status="suspicious", score=0.0),
        record("e", flags=[OTHER_SET]),
        record("f", flags=[OTHER_ID]),
        record("g", score=0.5, flags=[Flag("KT834", "By hand.", "said so")]),
        record("h"),
        record("i", flags=[NO_TPU, Flag("KT871", "It reaches.", "ctypes")]),
    )
    told = [(title, [line.student for line in lines]) for title, lines in made.groups()]
    assert told == [
        (GROUPS[0], ["f", "e"]), (GROUPS[1], ["d"]), (GROUPS[2], ["b"]),
        (GROUPS[3], ["c"]), (GROUPS[4], ["i"]), (GROUPS[6], ["g"]), (GROUPS[7], ["a"]),
    ]  # fmt: skip


def test_late_is_only_urgent_where_it_took_everything() -> None:
    assert (
        worth(record("a", score=0.8, flags=[LATE]), record("b", status="failed", score=0.0, flags=[LATE])).lines == []
    )


def test_a_remark_on_a_submission_is_told_once() -> None:
    made = worth(*(record("ada", slug, flags=[NO_TPU, OTHER_ID]) for slug in ("scale", "guess", "more")))
    [line] = made.lines
    assert (line.exercise, line.flags) == (None, (OTHER_ID,))
    assert [(code, one.records, list(one.students)) for code, _, one in made.remarks()] == [("KT800", 3, ["ada"])]


def test_every_flag_is_somewhere() -> None:
    codes = [f"KT{number}" for number in range(800, 880)] + ["KT111", "KT390"]
    for status in ("passed", "suspicious", "invalid", "timeout"):
        for code in codes:
            made = worth(record("ada", status=status, flags=[NO_TPU, Flag(code, "So it is.")]))
            told = {flag.code for line in made.lines for flag in line.flags} | {one for one, _, _ in made.remarks()}
            assert {code, "KT800"} <= told
            assert not {flag.code for line in made.lines for flag in line.flags} & {"KT800", "KT802"}


def test_who_has_no_file_is_counted() -> None:
    made = worth(*(record(name, status="invalid", verdict=None, score=0.0, flags=[NO_FILE]) for name in "abc"))
    assert made.lines == [] and [one.records for _, _, one in made.remarks()] == [3]
