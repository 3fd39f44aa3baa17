"""Trying other block sizes: how far the sweep is, a map of two keywords, and the table. Escape stops, then closes."""

from __future__ import annotations

import asyncio
import contextlib
import traceback
from collections.abc import AsyncIterator

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tutor.ladder.compiler import NoCompiler
from tutor.ladder.sweep_plan import CannotTune
from tutor.protocol import Sweep
from tutor.tui.text import visible
from tutor.tui.tune_model import Line, Tone, view
from tutor.tui.widgets.key_line import KeyLine

_STYLES: dict[Tone, str] = {
    "plain": "",
    "quiet": "$quiet",
    "good": "$text-success",
    "bad": "$text-error",
    "doubt": "$text-warning",
    "title": "bold",
}


class TunePage(ModalScreen[None]):
    """Shows a sweep while it runs. Leaving, or Escape, stops it and everything that it started."""

    CSS_PATH = "modal.tcss"
    BINDINGS = [
        Binding("escape", "stop", "Stop", tooltip="Stop the sweep; once more closes this page"),
        Binding("q", "dismiss", "Close"),
    ]
    AUTO_FOCUS = "VerticalScroll"

    def __init__(self, slug: str, pictures: AsyncIterator[Sweep]) -> None:
        super().__init__()
        self._slug, self._pictures = slug, pictures
        self._sweeping: asyncio.Task[None] | None = None
        self._sweep: Sweep | None = None
        self._gone = False  # what is left of a sweep has nowhere to be shown

    def compose(self) -> ComposeResult:
        with Vertical(classes="page"):
            title = f"Block sizes of {self._slug}"
            yield Static(Content.styled(visible(title), "bold $text-accent"), classes="title")
            yield Static("finding out what to try …", id="tune-progress", markup=False)
            with VerticalScroll():
                yield Static(id="tune-body", markup=False)
            yield KeyLine()

    def on_mount(self) -> None:
        self._sweeping = asyncio.create_task(self._follow())

    async def on_unmount(self) -> None:
        self._gone = True
        await self._end()

    async def _follow(self) -> None:
        try:
            async for sweep in self._pictures:
                self._sweep = sweep
                self._show(running=not sweep.complete)
        except asyncio.CancelledError:
            self._show(running=False)
            raise
        except (CannotTune, NoCompiler) as cannot:
            self._say("nothing to sweep", f"{cannot}\n\n{cannot.hint or ''}")
        except Exception:  # a fault of the tutor must not end the program: it is shown
            self._say("the tutor failed", traceback.format_exc())
        finally:
            if close := getattr(self._pictures, "aclose", None):
                await close()

    async def _end(self) -> None:
        if self._sweeping is not None and not self._sweeping.done():
            self._sweeping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._sweeping

    def _show(self, *, running: bool) -> None:
        if self._sweep is None or self._gone:
            return
        shown = view(self._sweep, running=running)
        self.query_one("#tune-progress", Static).update(Content(shown.progress))
        self.query_one("#tune-body", Static).update(Content("\n").join(map(_content, shown.lines)))

    def _say(self, progress: str, words: str) -> None:
        if not self._gone:
            self.query_one("#tune-progress", Static).update(Content(progress))
            self.query_one("#tune-body", Static).update(Content(visible(words, keep="\n")))

    async def action_stop(self) -> None:
        """Stop the sweep and keep what it found; if it has ended, close."""
        if self._sweeping is not None and not self._sweeping.done():
            await self._end()
            if self._sweep is None:
                self._say("stopped before anything was tried", "")
        else:
            self.dismiss()


def _content(line: Line) -> Content:
    return Content.assemble(*((visible(text), _STYLES[tone]) for text, tone in line))
