"""The history as the screen is handed it: with a real one, and where it cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from tests.tui.fakes import passing, verdict
from tutor.cli.start import Records
from tutor.record import HistoryError, open_history
from tutor.sets import find_set, load_set
from tutor.sets.manifest import Reveal

SET = load_set(find_set())
EXERCISE = SET.exercises[0]


def test_attempts_and_their_sources_come_back(tmp_path: Path) -> None:
    with open_history(tmp_path / "history.db") as history:
        records = Records(SET, history)
        records.add(EXERCISE, b"one", verdict(passing(), passed=False))
        records.add(EXERCISE, b"two", verdict(passing(), passed=True))
        tried = records.attempts(EXERCISE)
        assert [(records.source(each), each.passed) for each in tried] == [(b"one", False), (b"two", True)]
        assert records.trouble is None and records.solved() == {EXERCISE.slug} == records.tried()


def test_the_set_says_when_the_solution_may_be_seen(tmp_path: Path) -> None:
    manifest = structs.replace(SET.manifest, reveal=Reveal(when="pass"))
    with open_history(tmp_path / "history.db") as history:
        records = Records(_with(manifest), history)
        assert "once your attempt has passed" in (records.why_hidden(EXERCISE) or "")
        records.add(EXERCISE, b"x", verdict(passing(), passed=True))
        assert records.why_hidden(EXERCISE) is None
        records.mark_revealed(EXERCISE)
        assert history.progress(SET.id, EXERCISE.slug).revealed_at is not None


def _with(manifest):
    return type(SET)(SET.root, manifest, SET.exercises, SET.broken)


def test_a_history_that_breaks_loses_nothing_but_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_history(tmp_path / "history.db") as history:
        records = Records(SET, history)

        def full(*_: object, **__: object) -> int:
            raise HistoryError("The disk is full.")

        with monkeypatch.context() as patch:
            patch.setattr(type(history), "add", full)
            records.add(EXERCISE, b"x", verdict(passing(), passed=True))
        assert records.trouble == "The disk is full."
        assert records.solved() == frozenset() and records.trouble, "that one can read says nothing of writing"
        records.add(EXERCISE, b"x", verdict(passing(), passed=True))
        assert records.trouble is None


def test_without_a_history_everything_is_empty() -> None:
    records = Records(SET, None, "It was made by a newer version.")
    assert (records.attempts(EXERCISE), records.solved(), records.tried(), records.hints_used(EXERCISE)) == (
        [], frozenset(), frozenset(), 0,
    )  # fmt: skip
    records.add(EXERCISE, b"x", verdict(passing(), passed=True))
    assert records.use_hint(EXERCISE) == 1 == records.hints_used(EXERCISE), "what cannot be noted is still given"
    assert records.trouble == "It was made by a newer version."
