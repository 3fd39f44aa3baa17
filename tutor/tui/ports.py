"""What the screen is handed. It knows exercises, a history and something that checks; it does not know workers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Protocol

from tutor.ladder.events import Event
from tutor.protocol import StageName, Verdict


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


class History[E: Exercise](Protocol):
    """What the learner has done. `tried` are the slugs with at least one attempt, solved or not."""

    def solved(self) -> frozenset[str]: ...
    def tried(self) -> frozenset[str]: ...
    def hints_used(self, exercise: E) -> int: ...
    def use_hint(self, exercise: E) -> int:
        """Record one more hint; the answer is how many are used now."""

    def add(self, exercise: E, source: bytes, verdict: Verdict) -> None: ...


class Checker[E: Exercise](Protocol):
    """Checks attempts. Cancelling the task that iterates a check cancels that check and kills all it started."""

    @property
    def stages(self) -> Sequence[StageName]:
        """The stages that this checker runs, in the order of the ladder."""

    async def warm(self) -> None:
        """Start the workers, so that the first check does not wait for them. What fails here is said by the check."""

    def check(self, exercise: E, source: bytes, path: Path) -> AsyncIterator[Event]: ...
    async def aclose(self) -> None:
        """End the workers and wait for them."""
