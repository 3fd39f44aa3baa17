"""The tutor's screen: the set, the workspace, the history and the ladder, handed to the TUI."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from tutor.cli.errors import Refused
from tutor.cli.session import Session
from tutor.ladder.check import Ladder
from tutor.protocol import Verdict
from tutor.record import Attempt, History, HistoryError, Progress, Speed
from tutor.sets import Broken, Exercise, ExerciseSet
from tutor.sets.reveal import why_hidden

if TYPE_CHECKING:
    from tutor.tui.ports import Checker
    from tutor.tui.ports import Course as Screened
    from tutor.tui.ports import Exercise as Shown
    from tutor.tui.ports import History as Kept


class Course:
    """The session's set and workspace, as the screen asks for them."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._newer: set[str] = set()

    @property
    def exercises(self) -> Sequence[Exercise]:
        return self._session.set.exercises

    @property
    def broken(self) -> Sequence[Broken]:
        return self._session.set.broken

    @property
    def chips(self) -> Sequence[str]:
        return self._session.set.manifest.chips

    def file(self, exercise: Exercise) -> Path:
        opened = self._session.workspace.open(exercise)
        (self._newer.add if opened.newer_starter else self._newer.discard)(exercise.slug)
        return opened.path

    def reset(self, exercise: Exercise) -> Path | None:
        return self._session.workspace.reset(exercise).kept

    def reference(self, exercise: Exercise) -> Path | None:
        return exercise.reference

    def newer_starter(self, exercise: Exercise) -> bool:
        return exercise.slug in self._newer

    def keep_mine(self, exercise: Exercise) -> None:
        self._session.workspace.keep_mine(exercise)


class Records:
    """The history of one set. Where it cannot be used, nothing is kept, nothing fails, and `trouble` says why."""

    def __init__(self, exercises: ExerciseSet, history: History | None, trouble: str | None = None) -> None:
        self._set = exercises.id
        self._reveal = exercises.manifest.reveal
        self._history = history
        self._trouble = trouble
        self._unnoted: dict[str, int] = {}

    @property
    def trouble(self) -> str | None:
        return self._trouble

    def _ask[T](self, question: Callable[[History], T], otherwise: T) -> T:
        """What the history answers; it may be locked, full or on a disk that has gone at any time."""
        if self._history is None:
            return otherwise
        try:
            answer = question(self._history)
        except HistoryError as error:
            self._trouble = error.message
            return otherwise
        return answer

    def _progress(self) -> dict[str, Progress]:
        return self._ask(lambda history: history.status(self._set), {})

    def solved(self) -> frozenset[str]:
        return self._ask(lambda history: frozenset(history.solved(self._set)), frozenset())

    def tried(self) -> frozenset[str]:
        return frozenset(slug for slug, progress in self._progress().items() if progress.attempts)

    def hints_used(self, exercise: Exercise) -> int:
        noted = self._ask(lambda history: history.hints_used(self._set, exercise.slug), 0)
        return max(noted, self._unnoted.get(exercise.slug, 0))

    def use_hint(self, exercise: Exercise) -> int:
        most = len(exercise.hints)
        noted = self._ask(lambda history: history.use_hint(self._set, exercise.slug, most), None)
        if noted is not None:
            return noted
        # A hint that cannot be noted is still given, one at a time.
        used = self._unnoted[exercise.slug] = min(self.hints_used(exercise) + 1, most)
        return used

    def add(self, exercise: Exercise, source: bytes, verdict: Verdict) -> None:
        # Only an attempt that was kept shows that the trouble is over; that one can read says nothing of writing.
        if self._ask(lambda history: history.add(self._set, exercise.slug, source, verdict), None) is not None:
            self._trouble = None

    def attempts(self, exercise: Exercise) -> Sequence[Attempt]:
        return self._ask(lambda history: history.attempts(self._set, exercise.slug), [])

    def speeds(self, exercise: Exercise) -> Sequence[Speed]:
        return self._ask(lambda history: history.speeds(self._set, exercise.slug), [])

    def source(self, attempt: Attempt) -> bytes | None:
        return self._ask(lambda history: history.source(attempt.id), None)

    def why_hidden(self, exercise: Exercise) -> str | None:
        progress = self._progress().get(exercise.slug, Progress(exercise.slug))
        now = datetime.datetime.now(datetime.UTC)
        return why_hidden(self._reveal, solved=progress.solved, tries=progress.attempts, now=now)

    def mark_revealed(self, exercise: Exercise) -> None:
        self._ask(lambda history: history.mark_revealed(self._set, exercise.slug), None)


def open_tutor(session: Session) -> int:
    """Open the screen at the next unsolved exercise."""
    need_terminal("`kerneltutor check SLUG` and `kerneltutor watch SLUG` work without one.")
    session.require_jax()
    course = Course(session)
    try:
        records = Records(session.set, session.history)
    except HistoryError as error:
        records = Records(session.set, None, error.message)
    return show_screen(course, records, Ladder())


def need_terminal(hint: str) -> None:
    """`Refused`, with this hint, where there is no terminal to show a screen in."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Refused("no_terminal", "The tutor's screen needs a terminal.", hint)


def show_screen[E: Shown](course: Screened[E], history: Kept[E], checker: Checker[E], *, check: bool = False) -> int:
    """Run the screen on what it is handed; the answer is an exit code. `check`: check the first attempt at once."""
    from tutor.tui.app import run

    # Where unsaved text is kept if it cannot be kept beside its file.
    sides = Path(platformdirs.user_state_dir("kerneltutor"))
    return run(course, history, checker, check=check, sides=sides)
