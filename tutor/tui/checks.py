"""Running checks one after the other: the newest one wins, and an older one can say nothing any more."""

from __future__ import annotations

import asyncio
import re
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tutor.tui.model import Run, advance
from tutor.tui.ports import Checker, Exercise

# How long a newer check waits for the older one to clean up before it starts anyway.
_PATIENCE = 2.0


def source_lines(source: bytes) -> list[str]:
    """The lines as Python counts them, with the empty one after a last line break, as an editor shows them."""
    return re.split(r"\r\n|\r|\n", source.decode("utf-8", errors="replace"))


class Checks[E: Exercise]:
    """Feeds the events of the newest check, folded into a `Run`, to `report`."""

    def __init__(self, checker: Checker[E], report: Callable[[Run], None]) -> None:
        self.checker = checker
        self.run = Run()
        self._report = report
        self._task: asyncio.Task[None] | None = None
        # Which check is the newest. Not the task: a task may run before anybody knows it (Textual starts them eagerly).
        self._turn = 0

    def start(self, exercise: E, source: bytes, path: Path) -> None:
        """Cancel what runs and check this instead."""
        older = self._task
        if older is not None:
            older.cancel()
        self._turn += 1
        fresh = Run(stages=tuple(self.checker.stages(exercise)), lines=tuple(source_lines(source)), running=True)
        self._task = asyncio.create_task(self._follow(self._turn, fresh, older, exercise, source, path))

    def cancel(self) -> bool:
        """Cancel what runs; the answer is whether anything did."""
        if self._task is None or self._task.done():
            return False
        self._turn += 1
        self._task.cancel()
        self._tell(self._turn, replace(self.run, running=False, cancelled=True))
        return True

    def forget(self, exercise: E) -> None:
        """Cancel what runs and begin with the empty ladder of this exercise."""
        self.cancel()
        self._tell(self._turn, Run(stages=tuple(self.checker.stages(exercise))))

    async def aclose(self) -> None:
        """Cancel what runs, wait until it has gone, and end the checker."""
        self._turn += 1
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task], timeout=_PATIENCE)
        await self.checker.aclose()

    def _tell(self, turn: int, run: Run) -> bool:
        """Report `run`, unless a newer check has begun since `turn`; the answer is whether it was reported."""
        if turn == self._turn:
            self.run = run
            self._report(run)
        return turn == self._turn

    async def _follow(
        self, turn: int, run: Run, older: asyncio.Task[None] | None, exercise: E, source: bytes, path: Path
    ) -> None:
        self._tell(turn, run)
        if older is not None and not older.done():
            await asyncio.wait([older], timeout=_PATIENCE)
        events = self.checker.check(exercise, source, path)
        try:
            async for event in events:
                run = advance(run, event)
                if not self._tell(turn, run):
                    return
            trouble = None if run.verdict else "The check ended without a verdict."
        except Exception:  # a fault of the tutor: it is shown, and the learner's text is safe
            trouble = traceback.format_exc()
        finally:
            if close := getattr(events, "aclose", None):
                await close()
        if trouble:
            self._tell(turn, replace(run, running=False, trouble=trouble))
