"""The tutor's screen: the set, the workspace, the history and the ladder, handed to the TUI."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import platformdirs

from tutor.cli.errors import Refused
from tutor.cli.session import Session
from tutor.ladder.check import Ladder
from tutor.protocol import Verdict
from tutor.record import History
from tutor.sets import Exercise


class Course:
    """The session's set and workspace, as the screen asks for them."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def exercises(self) -> Sequence[Exercise]:
        return self._session.set.exercises

    @property
    def chips(self) -> Sequence[str]:
        return self._session.set.manifest.chips

    def file(self, exercise: Exercise) -> Path:
        return self._session.workspace.open(exercise).path

    def reset(self, exercise: Exercise) -> Path | None:
        return self._session.workspace.reset(exercise).kept


class Records:
    """The history of one set; without a history (it cannot be opened) nothing is kept and nothing fails."""

    def __init__(self, set_id: str, history: History | None) -> None:
        self._set = set_id
        self._history = history

    def solved(self) -> frozenset[str]:
        return frozenset(self._history.solved(self._set)) if self._history else frozenset()

    def tried(self) -> frozenset[str]:
        if self._history is None:
            return frozenset()
        return frozenset(slug for slug, progress in self._history.status(self._set).items() if progress.attempts)

    def hints_used(self, exercise: Exercise) -> int:
        return self._history.hints_used(self._set, exercise.slug) if self._history else 0

    def use_hint(self, exercise: Exercise) -> int:
        return self._history.use_hint(self._set, exercise.slug, len(exercise.hints)) if self._history else 0

    def add(self, exercise: Exercise, source: bytes, verdict: Verdict) -> None:
        if self._history is not None:
            self._history.add(self._set, exercise.slug, source, verdict)


def open_tutor(session: Session) -> int:
    """Open the screen at the next unsolved exercise."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        hint = "`kerneltutor check SLUG` and `kerneltutor watch SLUG` work without one."
        raise Refused("no_terminal", "The tutor's screen needs a terminal.", hint)
    from tutor.tui.app import run

    course = Course(session)
    records = Records(session.set.id, session.try_history())
    sides = Path(platformdirs.user_state_dir("kerneltutor"))
    return run(course, records, Ladder(), sides=sides)
