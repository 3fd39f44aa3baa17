"""What the terminal is told of a class."""

from __future__ import annotations

from tests.grade.test_journal import record
from tutor.cli.grade_words import FIRST, urgent
from tutor.grade.records import Flag
from tutor.grade.tally import Tally
from tutor.sets import ExerciseSet


def test_who_is_suspicious_and_why_in_a_line_each(small: ExerciseSet) -> None:
    tally = Tally(small.slugs)
    tally.add(record("fine"))
    for number in range(FIRST + 2):
        flag = Flag("KT390", "The witnesses disagree.", "case secret:\nit says\x1b[31m 3")
        tally.add(record(f"s{number}", status="suspicious", score=0.0, flags=[flag]))
    told = list(urgent(tally, small, dry_run=False))
    assert told[0] == "\nSuspicious (7):"
    assert told[1] == "  s0 scale: KT390 The witnesses disagree. case secret: it says\\x1b[31m 3"
    assert told[-1] == "  and 2 more, see report.html" and len(told) == FIRST + 2
    assert list(urgent(tally, small, dry_run=True))[-1] == "  and 2 more"


def test_a_broken_exercise_names_its_place_and_the_next_step(small: ExerciseSet) -> None:
    tally = Tally(small.slugs)
    flag = Flag("KT904", "It could not be judged.", "interpret: expected failed in line 9 of oracle.py")
    tally.add(record("ada", status="infra_error", score=0.0, verdict=None, flags=[flag]))
    told = "\n".join(urgent(tally, small, dry_run=False))
    assert "ada scale: KT904" in told and "line 9 of oracle.py" in told
    assert str(small.exercise("scale").folder) in told and "`kerneltutor set check scale`" in told
