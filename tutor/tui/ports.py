"""What the screen is handed. It knows exercises, a history and something that checks; it does not know workers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Protocol

from tutor.ladder.events import Event, KernelsTraced
from tutor.protocol import StageName, Sweep, Verdict
from tutor.record import Attempt, Speed
from tutor.sets import Broken


class Exercise(Protocol):
    """One exercise, as far as the screen shows it. `hints` go from a nudge to nearly all of it."""

    @property
    def slug(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def chapter(self) -> str: ...
    @property
    def number(self) -> int: ...
    @property
    def lesson(self) -> str: ...
    @property
    def starter(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def hints(self) -> Sequence[str]: ...
    @property
    def concepts(self) -> Sequence[str]: ...


class Course[E: Exercise](Protocol):
    """The exercises in course order, and the learner's file of each (made from the starter when first asked for)."""

    @property
    def exercises(self) -> Sequence[E]: ...
    @property
    def chips(self) -> Sequence[str]: ...
    def file(self, exercise: E) -> Path: ...
    def reset(self, exercise: E) -> Path | None:
        """Put the starter back; the answer is where the replaced file is kept, if there was one."""

    @property
    def broken(self) -> Sequence[Broken]:
        """The exercises that cannot be loaded, and why."""

    def reference(self, exercise: E) -> Path | None:
        """Where the reference solution is, if the set has one. Whether it may be shown is the history's to say."""

    def newer_starter(self, exercise: E) -> bool:
        """Whether the set has another starter than the one that the learner's file was made from."""

    def keep_mine(self, exercise: E) -> None:
        """The learner does not want the changed starter: it is not offered again."""


class History[E: Exercise](Protocol):
    """What the learner has done. `tried` are the slugs with at least one attempt, solved or not."""

    def solved(self) -> frozenset[str]: ...
    def tried(self) -> frozenset[str]: ...
    def hints_used(self, exercise: E) -> int: ...
    def use_hint(self, exercise: E) -> int:
        """Record one more hint; the answer is how many are used now."""

    def add(self, exercise: E, source: bytes, verdict: Verdict) -> None: ...
    def attempts(self, exercise: E) -> Sequence[Attempt]:
        """All attempts, oldest first."""

    def speeds(self, exercise: E) -> Sequence[Speed]:
        """How fast the attempts were, oldest first."""

    def source(self, attempt: Attempt) -> bytes | None:
        """The file as it was at that attempt; None if it cannot be had."""

    def why_hidden(self, exercise: E) -> str | None:
        """Why the solution may not be seen yet, in words; None if it may."""

    def mark_revealed(self, exercise: E) -> None:
        """The learner looked at the solution."""

    @property
    def trouble(self) -> str | None:
        """Why nothing is kept, if the history cannot be used."""


class Checker[E: Exercise](Protocol):
    """Checks attempts. Cancelling the task that iterates a check cancels that check and kills all it started."""

    def stages(self, exercise: E) -> Sequence[StageName]:
        """The stages of a whole check of this exercise, in the order of the ladder."""

    async def warm(self) -> None:
        """Start the workers, so that the first check does not wait for them. What fails here is said by the check."""

    def check(self, exercise: E, source: bytes, path: Path) -> AsyncIterator[Event]: ...
    async def trace(self, exercise: E, source: bytes, path: Path, *, whole: bool = False) -> KernelsTraced | None:
        """What a program does, without judging it; None if it does not trace. `whole`: with the program around the
        kernels and their index maps."""

    def tune(self, exercise: E, source: bytes, path: Path) -> AsyncIterator[Sweep]:
        """Try other block sizes: each answer is the sweep so far. `CannotTune` if the attempt has none to try."""

    async def aclose(self) -> None:
        """End the workers and wait for them."""
