"""What the terminal is told of a class."""

from __future__ import annotations

from pathlib import Path

from tests.grade.classes import RIGHT, hand_in, run_over
from tests.grade.test_journal import record
from tutor.cli.grade_words import FIRST, notes_of, urgent
from tutor.grade.journal import Journal
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


def test_a_single_file_with_a_wrong_name_is_told_how_it_is_called(small: ExerciseSet, tmp_path: Path) -> None:
    hand_in(tmp_path / "class" / "ada", scale=RIGHT)
    for name in ("zed__scal.py", "what.py", "roster.csv"):
        (tmp_path / "class" / name).touch()
    with Journal(tmp_path / "out", write=False) as journal:
        assert list(notes_of(run_over(tmp_path / "class", small), journal, [], {})) == [
            "roster.csv is no submission: left out.",
            "what.py is no submission: left out. A single file is called STUDENT__SLUG.py.",
            'zed__scal.py is no submission: left out. Did you mean "zed__scale.py"?',
        ]


def test_a_broken_exercise_names_its_place_and_the_next_step(small: ExerciseSet) -> None:
    tally = Tally(small.slugs)
    flag = Flag("KT904", "It could not be judged.", "interpret: expected failed in line 9 of oracle.py")
    tally.add(record("ada", status="infra_error", score=0.0, verdict=None, flags=[flag]))
    told = "\n".join(urgent(tally, small, dry_run=False))
    assert "ada scale: KT904" in told and "line 9 of oracle.py" in told
    assert str(small.exercise("scale").folder) in told and "`kerneltutor set check scale`" in told
