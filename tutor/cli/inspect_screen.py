"""The screen on one file of the user's own: a course of one, no lesson, and a history that ends with the program."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tutor.cli.start import need_terminal, show_screen
from tutor.ladder.inspect import Inspector
from tutor.protocol import Verdict
from tutor.record import Attempt, Speed, speeds_of
from tutor.sets import Broken


@dataclass(frozen=True)
class OwnKernel:
    """The file as the screen names it. It has nothing that an exercise has beside its code."""

    slug: str
    title: str
    chapter: str = ""
    number: int = 1
    lesson: str = ""
    starter: str = ""
    summary: str = ""
    hints: Sequence[str] = ()
    concepts: Sequence[str] = ()


class OneFile:
    """A course of one file. Nothing is ever put in its place."""

    broken: Sequence[Broken] = ()

    def __init__(self, path: Path, function: str, chips: Sequence[str]) -> None:
        self._path = path
        self.chips = chips
        self.exercises: Sequence[OwnKernel] = (OwnKernel(f"{path.name}:{function}", str(path)),)

    def file(self, exercise: OwnKernel) -> Path:
        return self._path

    def reset(self, exercise: OwnKernel) -> Path | None:
        return None

    def reference(self, exercise: OwnKernel) -> Path | None:
        return None

    def newer_starter(self, exercise: OwnKernel) -> bool:
        return False

    def keep_mine(self, exercise: OwnKernel) -> None:
        pass


class Sitting:
    """What was tried since the screen was opened. Nobody's own code is kept for longer."""

    trouble: str | None = None

    def __init__(self) -> None:
        self._tried: list[tuple[Attempt, bytes]] = []
        self._speeds: list[Speed] = []

    def solved(self) -> frozenset[str]:
        return frozenset()

    def tried(self) -> frozenset[str]:
        return frozenset(attempt.slug for attempt, _ in self._tried)

    def hints_used(self, exercise: OwnKernel) -> int:
        return 0

    def use_hint(self, exercise: OwnKernel) -> int:
        return 0

    def add(self, exercise: OwnKernel, source: bytes, verdict: Verdict) -> None:
        number = len(self._tried)
        attempt = Attempt(
            id=number,
            uid=str(number),
            set_id="",
            slug=exercise.slug,
            at=time.time(),
            sha256=hashlib.sha256(source).hexdigest(),
            passed=verdict.passed,
            score=verdict.score,
        )
        self._tried.append((attempt, source))
        self._speeds += speeds_of(attempt, verdict)

    def attempts(self, exercise: OwnKernel) -> Sequence[Attempt]:
        return [attempt for attempt, _ in self._tried]

    def speeds(self, exercise: OwnKernel) -> Sequence[Speed]:
        return self._speeds

    def source(self, attempt: Attempt) -> bytes | None:
        return self._tried[attempt.id][1]

    def why_hidden(self, exercise: OwnKernel) -> str | None:
        return None

    def mark_revealed(self, exercise: OwnKernel) -> None:
        pass


def open_file(inspector: Inspector, path: Path, function: str) -> int:
    """Show the file in the tutor's screen, inspected at once and again on every save; the answer is an exit code."""
    need_terminal("`kerneltutor inspect FILE` and `--watch` work without one.")
    return show_screen(OneFile(path, function, inspector.chips), Sitting(), inspector, check=True)
