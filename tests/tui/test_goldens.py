"""The screen as text, word for word, at three sizes. `KT_GOLDENS=write` writes them anew: look at the difference."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.tui.fakes import FakeChecker, estimated, events, failing, judged, speed
from tests.tui.screen import SIZES, Driven, driven
from tutor.tui.widgets.jaxpr_view import JaxprView
from tutor.tui.widgets.roofline_view import RooflineView

FOLDER = Path(__file__).parent / "goldens"


async def lesson(run: Driven) -> None:
    """As it opens for the first time."""


async def failed(run: Driven) -> None:
    await run.check()
    await run.edit()
    run.editor.go_to(16)
    await run.settle()


async def jaxpr(run: Driven) -> None:
    await run.check()
    await run.press("f8")
    await run.until(lambda: run.one(JaxprView).has_focus)
    await run.press("right_square_bracket", "right_square_bracket")


async def passed(run: Driven) -> None:
    run.checker.script = judged
    await run.check()
    await run.edit("escape")


async def found(run: Driven) -> None:
    await run.check()
    await run.press("f10")


async def exercises(run: Driven) -> None:
    await run.press("f2")


async def hint(run: Driven) -> None:
    await run.press("f7")


async def roofline(run: Driven) -> None:
    await fast(run)
    await run.press("o")
    await run.until(lambda: run.one(RooflineView).has_focus)


async def speeds(run: Driven) -> None:
    await fast(run)
    await run.press("y")


async def fast(run: Driven) -> None:
    run.checker.script = estimated
    run.history.fast = [speed(n, 1900.0 - 200 * n, passed=n != 1) for n in range(5)]
    await run.check()
    await run.press("escape")


SCENES = (lesson, failed, jaxpr, passed, found, exercises, hint, roofline, speeds)


@pytest.mark.parametrize("size", SIZES, ids="{0[0]}x{0[1]}".format)
@pytest.mark.parametrize("scene", SCENES, ids=lambda f: f.__name__)
async def test_screen(tmp_path: Path, scene, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")  # attempts show when they were made
    time.tzset()
    async with driven(tmp_path, FakeChecker(lambda source: events(failing())), size) as run:
        await scene(run)
        await run.settle()
        lines = run.lines()
    golden = FOLDER / f"{scene.__name__}_{size[0]}x{size[1]}.txt"
    if os.environ.get("KT_GOLDENS") == "write":
        FOLDER.mkdir(exist_ok=True)
        golden.write_text("\n".join(lines) + "\n")
    assert lines == golden.read_text().removesuffix("\n").split("\n")
