"""The views beside the jaxpr: the grid, the lowered module, comparing, and what was tried before."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.fakes import FACTS, FakeChecker, events, failing, passing, stage
from tests.tui.screen import SIZES, Driven, driven
from tests.tui.test_grid_model import ERRORS
from tutor.protocol import CaseError, CaseResult
from tutor.tui.widgets.grid_view import GridView, Slider
from tutor.tui.widgets.work import Work


def right(source: bytes):
    return events(passing())


def wrong_in_blocks(source: bytes):
    results = {result.name: result for result in failing()}
    cases = [CaseResult("square", "failed", CaseError(0.1, 10.0, [0, 128], [0, 1], [0, 1, 7], ERRORS))]
    results["interpret"] = stage("interpret", "failed", cases=cases)
    return events(list(results.values()))


async def opened(run: Driven, key: str, name: str) -> None:
    await run.press(key)
    await run.until(lambda: run.one(Work).active == name and run.one(Work).content_focused)


@pytest.mark.parametrize("size", SIZES)
async def test_the_grid_is_walked_with_keys(tmp_path: Path, size) -> None:
    async with driven(tmp_path, FakeChecker(right), size) as run:
        assert "Grid" not in run.text(), "no empty tabs"
        await run.press("f9")
        assert run.one(Work).active == "lesson"
        await run.check()
        await opened(run, "f9", "grid")
        assert "step 0 of 128  (0, 0, 0)" in run.text() and "(0, 0) fetched" in run.text()
        await run.press("right", "down")
        assert "step 9 of 128  (0, 1, 1)" in run.text()
        await run.press("end")
        assert run.one(Slider).step == 127
        await run.press("right", "home", "right_square_bracket")
        assert run.one(Slider).step == 1
        await run.press("b")
        assert run.one(Slider).step == 1, "nothing is wrong, so no key for it"


async def test_a_picture_shows_where_the_block_is(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(right)) as run:
        await run.check()
        await opened(run, "f9", "grid")
        run.one(GridView).go_to(37)
        await run.pilot.pause()
        lines = run.lines()
        at = next(i for i, line in enumerate(lines) if "a_ref" in line)
        assert "(1, 5) fetched" in lines[at + 2] and "(1, 0) kept" in lines[at + 2]
        assert lines[at + 3].startswith(" ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒") and lines[at + 4].startswith(" ▒▒▒▒▒▒▒▒▒▒██····")
        await run.pilot.click(Slider, offset=(0, 0))
        assert run.one(Slider).step == 0


@pytest.mark.parametrize("size", SIZES)
async def test_where_it_is_wrong_leads_to_the_step_that_wrote_it(tmp_path: Path, size) -> None:
    async with driven(tmp_path, FakeChecker(wrong_in_blocks), size) as run:
        await run.check()
        await opened(run, "f9", "grid")
        assert "error of o" in run.text() and "··░░····" in run.text()
        await run.press("b")
        assert run.one(Slider).step == 15 and "(0, 1, 7)" in run.text()
        await run.press("b", "b", "b")
        assert run.one(Slider).step == 15, "after the last comes the first"


async def test_a_check_without_a_grid_has_no_tab(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(right)) as run:
        await run.check()
        await run.until(lambda: "Grid" in run.text())
        await run.press("f2", "shift+tab", *"dma", "enter")
        await run.until(lambda: "any_sync_copy" in run.lines()[0])
        await run.until(lambda: "Grid" not in run.text())
        assert FACTS.kernels
