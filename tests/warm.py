"""Warm workers for tests: one event loop in a thread of its own, with the ladder and the inspectors that live in it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from tutor.ladder.check import Ladder
from tutor.ladder.events import CheckFinished, Event
from tutor.ladder.inspect import DEFAULT_CHIPS, Inspector
from tutor.protocol import Finding, StageName, StageResult, Verdict
from tutor.sets import Exercise

PATIENCE = 900
"""Seconds until something hangs: a whole exercise, proved on a busy machine, takes minutes."""


class Warm:
    """Runs checks from plain tests, one at a time. The workers start with the first one and are kept."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._inspectors: dict[bool, Inspector] = {}
        self._ladder: Ladder | None = None

    def inspect(
        self,
        path: Path,
        source: bytes | None = None,
        *,
        function: str = "run",
        jail: bool = False,
        chips: tuple[str, ...] | None = None,
        target: StageName | None = None,
        only: Sequence[StageName] | None = None,
    ) -> Verdict:
        """The verdict of `inspect` on a file (or on `source` under its name)."""
        inspector = self._inspectors.setdefault(jail, Inspector(jail=jail))
        inspector.function = function
        inspector.chips = chips or DEFAULT_CHIPS
        text = path.read_bytes() if source is None else source
        return self._verdict(inspector.check(None, text, path, target=target, only=only))

    def check(self, exercise: Exercise, source: bytes, name: str, **options: Any) -> Verdict:
        """The verdict of `check` on an attempt, with any options of `Ladder.check`."""
        self._ladder = self._ladder or Ladder()
        return self._verdict(self._ladder.check(exercise, source, name, **options))

    def do[T](self, work: Callable[[Ladder], Coroutine[Any, Any, T]]) -> T:
        """Anything else with the warm ladder, in the loop that it lives in."""
        self._ladder = self._ladder or Ladder()
        return self._run(work(self._ladder))

    def close(self) -> None:
        """End the workers and the loop."""
        for part in (*self._inspectors.values(), self._ladder):
            if part is not None:
                self._run(part.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()

    def _verdict(self, events: AsyncIterator[Event]) -> Verdict:
        async def last() -> Verdict:
            found = [event.verdict async for event in events if isinstance(event, CheckFinished)]
            assert len(found) == 1
            return found[0]

        return self._run(last())

    def _run[T](self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)


def stage(verdict: Verdict, name: str) -> StageResult:
    """The result of one stage."""
    return next(result for result in verdict.stages if result.name == name)


def findings(verdict: Verdict) -> list[Finding]:
    """Everything that was said, in the order of the stages."""
    return [found for result in verdict.stages for found in result.findings]
