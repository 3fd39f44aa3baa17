"""A new result beside an earlier one, and beside what the instructor has decided."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.grade.test_journal import record
from tests.unit.verdicts import verdict
from tutor.grade.changes import settle
from tutor.grade.overrides import Override, Overrides, read_overrides
from tutor.grade.records import GradeRecord
from tutor.protocol import AttemptId
from tutor.sets import ManifestError


def codes(one: GradeRecord) -> list[str]:
    return [flag.code for flag in one.flags]


def test_the_first_result_is_new() -> None:
    change = settle(record("ada"), None, by_hand=False, accept_lower=False)
    assert (change.kind, change.writes) == ("new", True)


def test_the_same_result_apart_from_times_writes_nothing() -> None:
    again = record("ada", verdict=verdict(seconds=99.0))
    change = settle(again, record("ada"), by_hand=False, accept_lower=False)
    assert (change.kind, change.writes) == ("same", False)


def test_a_higher_score_takes_its_place() -> None:
    change = settle(record("ada", score=1.0), record("ada", score=0.5), by_hand=False, accept_lower=False)
    assert (change.kind, change.record.score, change.writes) == ("raised", 1.0, True)


def test_a_lower_score_does_not_and_says_so() -> None:
    lower = record("ada", score=0.2, status="partial")
    change = settle(lower, record("ada"), by_hand=False, accept_lower=False)
    assert (change.kind, change.record.score, change.record.status) == ("kept", 1.0, "passed")
    assert codes(change.record) == ["KT800", "KT837"]
    assert "partial with 0.2" in (change.record.flags[-1].evidence or "")
    again = settle(lower, change.record, by_hand=False, accept_lower=False)
    assert (again.kind, again.writes) == ("kept", False)  # said once, not once a run


def test_a_lower_score_that_is_accepted_stays_marked() -> None:
    lower = record("ada", score=0.2)
    kept = settle(lower, record("ada"), by_hand=False, accept_lower=False).record
    change = settle(lower, kept, by_hand=False, accept_lower=True)
    assert (change.kind, change.record.score, codes(change.record)) == ("lowered", 0.2, ["KT800", "KT838"])
    again = settle(lower, change.record, by_hand=False, accept_lower=True)
    assert (again.kind, again.writes) == ("same", False)


def test_a_mark_goes_when_the_earlier_result_is_found_again() -> None:
    kept = settle(record("ada", score=0.2), record("ada"), by_hand=False, accept_lower=False).record
    change = settle(record("ada"), kept, by_hand=False, accept_lower=False)
    assert (change.kind, change.writes, codes(change.record)) == ("same", True, ["KT800"])


def test_what_is_lowered_by_hand_needs_no_more() -> None:
    change = settle(record("ada", score=0.0), record("ada"), by_hand=True, accept_lower=False)
    assert (change.kind, change.record.score) == ("changed", 0.0)


@pytest.mark.parametrize("accept_lower", [False, True])
def test_a_fault_of_ours_never_takes_the_place_of_a_result(accept_lower: bool) -> None:
    ours = record("ada", score=0.0, status="infra_error", verdict=None)
    for was in (record("ada"), record("ada", score=0.0, status="failed")):
        change = settle(ours, was, by_hand=False, accept_lower=accept_lower)
        assert (change.kind, change.record.status) == ("kept", was.status)


# ---------------------------------------------------------------- overrides

SHA = verdict().attempt.sha256


def applied(*entries: Override, of: GradeRecord | None = None, worth: float = 1.0) -> GradeRecord:
    return Overrides(entries).apply(of or record("ada", score=0.0, status="suspicious"), worth=worth)


def entry(**values: object) -> Override:
    return msgspec.convert({"student": "ada", "exercise": "scale", "reason": "looked at it", **values}, Override)


@pytest.mark.parametrize(
    ("values", "status", "score"),
    [
        ({"status": "passed"}, "passed", 1.0),
        ({"status": "passed", "score": 0.7}, "passed", 0.7),
        ({"score": 1.0}, "passed", 1.0),
        ({"score": 0.25}, "partial", 0.25),
        ({"score": 0}, "failed", 0.0),
        ({"status": "failed"}, "failed", 0.0),
        ({"status": "passed", "attempt_sha256": SHA}, "passed", 1.0),
    ],
)
def test_an_override_wins_and_says_what_was(values: dict[str, object], status: str, score: float) -> None:
    one = applied(entry(**values))
    assert (one.status, one.score) == (status, score)
    assert codes(one) == ["KT800", "KT834"]
    assert one.flags[-1].evidence == "looked at it\nIt was suspicious with 0."


def test_a_status_set_by_hand_still_counts_lateness_and_a_score_does_not() -> None:
    assert applied(entry(status="passed"), worth=0.8).score == 0.8
    assert applied(entry(score=0.9), worth=0.8).score == 0.9


def test_an_override_of_another_attempt_does_nothing_but_say_so() -> None:
    one = applied(entry(status="passed", attempt_sha256="f" * 64))
    assert (one.status, one.score, codes(one)) == ("suspicious", 0.0, ["KT800", "KT835"])


def test_overrides_that_contradict_each_other_do_nothing_but_say_so() -> None:
    one = applied(entry(status="passed"), entry(score=0.5))
    assert (one.status, codes(one)) == ("suspicious", ["KT800", "KT836"])
    assert applied(entry(score=0.5), entry(score=0.5)).score == 0.5


def test_an_override_follows_the_attempt_that_it_names() -> None:
    new = record("ada", verdict=verdict(attempt=AttemptId("scale.py", "1" * 64)))
    entries = entry(score=0.5, attempt_sha256=SHA), entry(score=0.6, attempt_sha256="1" * 64)
    assert applied(*entries, of=new).score == 0.6


def test_overrides_of_nobody_are_listed() -> None:
    overrides = Overrides([entry(score=1.0), entry(student="zoe", score=1.0), entry(exercise="other", score=1.0)])
    assert {(one.student, one.exercise) for one in overrides.unknown({("ada", "scale")})} == {
        ("zoe", "scale"), ("ada", "other"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('student = "a"\nexercise = "s"\nreason = "r"', "neither a status nor a score"),
        ('student = "a"\nexercise = "s"\nstatus = "passed"', "reason"),
        ('student = "a"\nexercise = "s"\nreason = " "\nscore = 1', "must say why"),
        ('student = "a"\nexercise = "s"\nreason = "r"\nscore = 2', "from 0 to 1"),
        ('student = "a"\nexercise = "s"\nreason = "r"\nstatus = "partial"', "how much"),
        ('student = "a"\nexercise = "s"\nreason = "r"\nstatus = "pased"', "passed"),
        ('student = "a"\nexercise = "s"\nreason = "r"\nscores = 1', "score"),
    ],
)
def test_a_file_that_is_wrong_says_where(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "overrides.toml").write_text(f"[[override]]\n{text}\n")
    with pytest.raises(ManifestError) as caught:
        read_overrides(tmp_path)
    assert said in f"{caught.value.message} {caught.value.hint}"
