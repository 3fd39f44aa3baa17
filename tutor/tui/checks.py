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
        self._report = report
        self._task: asyncio.Task[None] | None = None
        self.run = Run(stages=tuple(checker.stages))

    def start(self, exercise: E, source: bytes, path: Path) -> None:
        """Cancel what runs and check this instead."""
        older = self._task
        if older is not None:
            older.cancel()
        lines = tuple(source_lines(source))
        fresh = Run(stages=tuple(self.checker.stages), lines=lines, running=True)
        self._task = asyncio.create_task(self._follow(fresh, older, exercise, source, path))

    def cancel(self) -> bool:
        """Cancel what runs; the answer is whether anything did."""
        if self._task is None or self._task.done():
            return False
        self._task.cancel()
        self._task = None
        self._tell(replace(self.run, running=False, cancelled=True))
        return True

    def forget(self) -> None:
        """Cancel what runs and begin with an empty ladder."""
        self.cancel()
        self._tell(Run(stages=tuple(self.checker.stages)))

    async def aclose(self) -> None:
        """Cancel what runs, wait until it has gone, and end the checker."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task], timeout=_PATIENCE)
        await self.checker.aclose()

    def _tell(self, run: Run) -> None:
        self.run = run
        self._report(run)

    async def _follow(self, run: Run, older: asyncio.Task[None] | None, exercise: E, source: bytes, path: Path) -> None:
        self._tell(run)
        # Textual starts tasks eagerly, so this may run inside `start`, before this task is known as the newest.
        await asyncio.sleep(0)
        if older is not None and not older.done():
            await asyncio.wait([older], timeout=_PATIENCE)
        events = self.checker.check(exercise, source, path)
        try:
            async for event in events:
                if self._task is not asyncio.current_task():
                    return
                run = advance(run, event)
                self._tell(run)
            trouble = None if run.verdict else "The check ended without a verdict."
        except Exception:  # a fault of the tutor: it is shown, and the learner's text is safe
            trouble = traceback.format_exc()
        finally:
            if close := getattr(events, "aclose", None):
                await close()
        if trouble and self._task is asyncio.current_task():
            self._tell(replace(run, running=False, trouble=trouble))
