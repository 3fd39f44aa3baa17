"""Tuning on the screen: the sweep fills in, Escape stops it and keeps what it found, and once more closes the page."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.tui.fakes import FakeChecker, events, passing, sweep_pictures
from tests.tui.screen import SIZES, Driven, driven
from tutor.tui.screens.tune import TunePage
from tutor.tui.tune_model import view


def right(source: bytes):
    return events(passing())


async def page(run: Driven) -> None:
    await run.press("u")
    await run.until(lambda: isinstance(run.app.screen, TunePage))


@pytest.mark.parametrize("size", SIZES)
async def test_the_whole_sweep(tmp_path: Path, size) -> None:
    async with driven(tmp_path, FakeChecker(right), size) as run:
        await page(run)
        await run.until(lambda: "4 of 4 tried" in run.text())
        text = run.text()
        assert "about 3 times faster" in " ".join(text.split()) or size == SIZES[-1]
        assert "[░ 3]" in text or size == SIZES[-1]
        assert run.checker.tuned == [run.editor.text.encode()]
        await run.press("escape")
        await run.until(lambda: not isinstance(run.app.screen, TunePage))
        await run.press("f4")
        await run.until(lambda: run.editor.has_focus)


class Few(asyncio.Event):
    """Lets so many through, and then nobody."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count

    async def wait(self) -> bool:  # type: ignore[override]
        self.count -= 1
        return self.count >= 0 or await super().wait()


async def test_escape_stops_and_then_closes(tmp_path: Path) -> None:
    checker = FakeChecker(right, gate=Few(3))
    async with driven(tmp_path, checker) as run:
        await page(run)
        await run.until(lambda: "2 of 4" in run.text())
        await run.press("escape")
        await run.until(lambda: "stopped: 2 of 4 tried" in run.text())
        assert checker.cancelled
        await run.press("escape")
        await run.until(lambda: not isinstance(run.app.screen, TunePage))


@pytest.mark.parametrize("keys", ["q", "ctrl+q"])
async def test_leaving_the_page_stops_the_sweep(tmp_path: Path, keys: str) -> None:
    checker = FakeChecker(right, gate=asyncio.Event())
    async with driven(tmp_path, checker) as run:
        await page(run)
        await run.press(keys)
        await run.until(lambda: not isinstance(run.app.screen, TunePage))
        await run.until(lambda: checker.cancelled)


async def test_quitting_while_a_sweep_is_shown_is_no_fault(tmp_path: Path) -> None:
    """The page goes while its sweep is being stopped."""
    checker = FakeChecker(right, gate=Few(3))
    async with driven(tmp_path, checker) as run:
        await page(run)
        await run.until(lambda: "2 of 4" in run.text())
        run.app.exit()
    assert checker.cancelled and run.app._exception is None


async def test_nothing_to_sweep_is_said(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(right)) as run:
        await run.edit("#", "space", *"no", "space", *"blocks", "enter")
        await run.press("escape")
        await page(run)
        await run.until(lambda: "It has no block sizes to sweep." in run.text())
        assert "Add some." in run.text()


def test_every_piece_has_its_meaning() -> None:
    shown = view(sweep_pictures()[-1], running=False)
    tones = {text.strip(): tone for line in shown.lines for text, tone in line}
    assert tones["VMEM"] == "bad" and tones["█ 1"] == "good" and tones["[░ 3]"] == "plain"
    assert shown.progress == "4 of 4 tried in 1.0 s"


def test_progress() -> None:
    pictures = sweep_pictures()
    assert view(pictures[2], running=True).progress.startswith("━━━━━━━━━━──────────  2 of 4")
    assert view(pictures[2], running=False).progress == "stopped: 2 of 4 tried"
