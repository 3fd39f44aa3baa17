"""Driving the app in tests, and reading the screen as lines of text."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from textual.message_pump import MessagePump
from textual.pilot import Pilot
from textual.widget import Widget

from tests.tui.fakes import FakeChecker, FakeCourse, FakeExercise, FakeHistory
from tutor.tui.app import TutorApp
from tutor.tui.screens.main import MainScreen
from tutor.tui.widgets.editor import CodeEditor

SIZES = ((120, 40), (80, 24), (40, 12))


@dataclass
class Driven:
    """A running app and what was handed to it."""

    app: TutorApp[FakeExercise]
    pilot: Pilot[None]
    course: FakeCourse
    history: FakeHistory
    checker: FakeChecker

    @property
    def main(self) -> MainScreen[FakeExercise]:
        return self.app.main

    @property
    def editor(self) -> CodeEditor:
        return self.main.query_one(CodeEditor)

    @property
    def path(self) -> Path:
        assert self.main._desk is not None
        return self.main._desk.path

    def one[W: Widget](self, kind: type[W]) -> W:
        return self.main.query_one(kind)

    def lines(self) -> list[str]:
        """What stands on the screen, without colours and without spaces at the end of lines."""
        screen = self.app.screen
        width, height = screen.size
        strips = screen._compositor.render_strips(screen.size)
        assert len(strips) == height
        return ["".join(segment.text for segment in strip)[:width].rstrip() for strip in strips]

    def text(self) -> str:
        return "\n".join(self.lines())

    async def press(self, *keys: str) -> None:
        """Press keys, and let each one have all its effects before the next."""
        for key in keys:
            await self.pilot.press(key)
            await self.settle()

    async def settle(self) -> None:
        """Wait until no message, callback or layout is left to do. (The pilot only waits until the process uses little
        time, which a busy machine looks like as well.)"""
        quiet = 0
        for _ in range(1000):
            if quiet == 2 or self.app._exit:  # what an app that ends has not done stays undone
                break
            await self.pilot._wait_for_screen()
            await asyncio.sleep(0.005)
            quiet = quiet + 1 if self._idle() else 0
        if not self.app._exit:
            self.app.screen._on_timer_update()

    def _idle(self) -> bool:
        screen = self.app.screen
        pumps: list[MessagePump] = [self.app, *screen.walk_children(with_self=True)]
        waiting = any(pump.message_queue_size or pump._next_callbacks for pump in pumps)
        return not (waiting or screen._callbacks or screen._layout_required)

    async def until(self, wanted: Callable[[], object]) -> None:
        """Wait until something is so; it is an error if it does not become so within some twenty seconds."""
        for _ in range(2000):
            if wanted():
                await self.settle()
                return
            await self.pilot.pause(0.01)
        raise AssertionError(f"never became so; the screen was:\n{self.text()}")

    async def edit(self, *keys: str) -> None:
        """Open the editor, the cursor on the first line, and press keys there."""
        await self.press("f4")
        await self.until(lambda: self.editor.has_focus)
        await self.press("ctrl+home", *keys)

    async def check(self) -> None:
        """Press F5 and wait for the verdict."""
        done = len(self.checker.finished)
        await self.press("f5")
        await self.until(lambda: len(self.checker.finished) > done and not self.main._checks.run.running)


@asynccontextmanager
async def driven(
    folder: Path, checker: FakeChecker, size: tuple[int, int] = (120, 40), **more: object
) -> AsyncIterator[Driven]:
    """The app over a fresh course in `folder`, once the first exercise is open."""
    course = more.pop("course", None) or FakeCourse(folder)
    history = more.pop("history", None) or FakeHistory()
    assert isinstance(course, FakeCourse) and isinstance(history, FakeHistory)
    app = TutorApp(course, history, checker, **more)  # type: ignore[arg-type]
    async with app.run_test(size=size, notifications=True) as pilot:
        run = Driven(app, pilot, course, history, checker)
        await run.until(lambda: app.main._desk is not None)
        yield run
