"""The views beside the jaxpr: the grid, the lowered module, comparing, and what was tried before."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from tests.tui.fakes import BAD, FACTS, FakeChecker, FakeCourse, FakeHistory, estimated, events, failing, passing, stage
from tests.tui.screen import SIZES, Driven, driven
from tests.tui.test_grid_model import ERRORS
from tutor.ladder.events import CheckFinished
from tutor.protocol import CaseError, CaseResult
from tutor.sets import Broken, SetError
from tutor.tui.widgets.compare_view import CompareView
from tutor.tui.widgets.grid_view import GridView, Slider
from tutor.tui.widgets.jaxpr_view import JaxprView
from tutor.tui.widgets.roofline_view import RooflineView
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
        await run.settle()
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
        await run.press("f2", *"dma", "enter")
        await run.until(lambda: "any_sync_copy" in run.lines()[0])
        await run.until(lambda: "Grid" not in run.text())
        assert FACTS.kernels


@pytest.mark.parametrize("size", SIZES)
async def test_the_lowered_module_goes_with_the_source(tmp_path: Path, size) -> None:
    async with driven(tmp_path, FakeChecker(right), size) as run:
        await run.press("m")
        assert run.one(Work).active == "lesson", "no empty tabs"
        await run.check()
        await opened(run, "m", "mosaic")
        view = run.main.query_one("#mosaic-view", JaxprView)
        assert "module @kernel" in run.text()
        await run.press("right_square_bracket")
        assert view.cursor == 7 and run.editor.cursor_location[0] == 15
        await run.press("enter")
        await run.until(lambda: run.editor.has_focus)
        assert run.editor.cursor_location[0] == 15


async def test_what_was_not_lowered_is_marked(tmp_path: Path) -> None:
    def refused(source: bytes):
        results = {result.name: result for result in passing()} | {"lower": stage("lower", "failed", BAD)}
        return events(list(results.values()))

    async with driven(tmp_path, FakeChecker(refused)) as run:
        await run.check()
        await opened(run, "m", "mosaic")
        assert "!!     acc[:,:] <- j" in run.text() and "# not lowered" in run.text()
        assert "module @kernel" not in run.text()


async def test_the_whole_program_is_shown_on_request_and_stays(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(right)) as run:
        await run.check()
        await opened(run, "f8", "jaxpr")
        await run.press("w")
        await run.until(lambda: "# the whole program" in run.text())
        assert run.checker.traced == [(run.path.read_bytes(), True)]
        await run.check()
        await run.until(lambda: len(run.checker.traced) == 2 and "# the whole program" in run.text())
        await run.press("w")
        await run.until(lambda: "# the whole program" not in run.text())


@pytest.mark.parametrize("size", SIZES)
async def test_yours_beside_an_earlier_attempt(tmp_path: Path, size) -> None:
    async with driven(tmp_path, FakeChecker(right), size) as run:
        await run.press("f12")
        await run.until(lambda: "check with F5" in run.text().replace("\n", " ") or "F5 first" in run.text())
        await run.check()
        await run.press("f12")
        await run.until(lambda: "Compare yours with what?" in run.text())
        assert "The reference" not in run.text()
        await run.press("enter")
        await run.until(lambda: run.one(Work).active == "compare")
        await run.until(lambda: run.main.query_one("#compare-view", JaxprView).has_focus)
        assert "1 load fewer (4, not 5)" in " ".join(run.text().split())
        rows = run.main.query_one("#compare-view", JaxprView)._text
        assert [row for row in rows if row.startswith(">")] and len(rows) >= 18
        assert run.one(CompareView).size.width


async def test_a_set_without_solutions_promises_none(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(right)) as run:
        await run.check()
        await run.press("d")
        await run.until(lambda: "Compare yours with what?" in run.text())
        assert "This copy of the set has no solutions." in run.text()
        assert "once your attempt has passed" not in run.text() and "The reference solution" not in run.text()


async def test_the_reference_is_offered_only_when_it_may_be_seen(tmp_path: Path) -> None:
    reference = tmp_path / "reference.py"
    reference.write_text("import jax  # the reference [/x]\n")
    course, history = FakeCourse(tmp_path, solution=reference), FakeHistory()
    async with driven(tmp_path, FakeChecker(right), course=course, history=history) as run:
        await run.press("s")
        await run.until(lambda: "once your attempt has passed" in " ".join(run.text().split()))
        assert not history.revealed
        history.hidden = None
        await run.press("s")
        await run.until(lambda: "# the reference [/x]" in run.text())
        assert history.revealed == ["f32_accumulator"]
        await run.press("x")
        await run.press("escape")
        await run.check()
        await run.press("f12")
        await run.until(lambda: "The reference solution" in run.text())
        await run.press("enter")
        await run.until(lambda: "Beside the reference" in run.text())
        assert run.checker.traced[-1] == (reference.read_bytes(), False)


@pytest.mark.parametrize("size", SIZES)
async def test_an_earlier_attempt_is_read_and_put_back(tmp_path: Path, size) -> None:
    async with driven(tmp_path, FakeChecker(right), size) as run:
        await run.edit(*"# one", "enter", "ctrl+s")
        await run.until(lambda: len(run.history.added) == 1)
        await run.press("escape", "y")
        await run.until(lambda: run.one(Work).active == "history" and run.one(Work).content_focused)
        assert "passed" in run.text() and "score 0.5"[:5] in run.text()
        await run.edit("T", "W", "O", "enter")
        now = run.editor.text
        await run.press("escape", "y", "enter")
        await run.until(lambda: "# one" in run.text())
        await run.press("z")
        assert run.editor.text == now, "it is read-only"
        await run.press("r")
        await run.until(lambda: "Restore your attempt" in " ".join(run.text().split()))
        await run.press("escape")
        assert run.editor.text == now
        await run.press("enter")
        await run.until(lambda: "# one" in run.text())
        await run.press("r", "enter")
        await run.until(lambda: run.editor.text.startswith("# one\nimport"))
        assert run.main.unsaved() is False, "it is what the disk holds"
        await run.press("ctrl+z")
        assert run.editor.text == now


async def test_a_changed_starter_is_offered_and_mine_is_kept(tmp_path: Path) -> None:
    course = FakeCourse(tmp_path, changed={"f32_accumulator"})
    async with driven(tmp_path, FakeChecker(right), course=course) as run:
        await run.until(lambda: "The set has a changed starter" in run.text())
        before = run.path.read_bytes()
        await run.press("enter")
        await run.until(lambda: not course.changed)
        assert run.path.read_bytes() == before


async def test_a_changed_starter_is_taken_and_the_old_file_is_beside_it(tmp_path: Path) -> None:
    course = FakeCourse(tmp_path, changed={"f32_accumulator"})
    async with driven(tmp_path, FakeChecker(right), course=course) as run:
        await run.until(lambda: "The set has a changed starter" in run.text())
        await run.press("down", "enter")
        await run.until(lambda: run.path.with_suffix(".py.1").exists())


async def test_broken_exercises_stand_in_the_list_with_the_reason(tmp_path: Path) -> None:
    broken = Broken("lost_one", "03_memory", 9, SetError("exercise.toml line 3: no title [/x]."))
    async with driven(tmp_path, FakeChecker(right), course=FakeCourse(tmp_path, broken=(broken,))) as run:
        await run.press("f2", *"lost")
        await run.until(lambda: "! lost_one" in run.text())
        await run.press("tab", "down", "down")
        await run.until(lambda: "Cannot be loaded" in run.text() and "[/x]." in run.text())
        await run.press("enter")
        assert "f32_accumulator" in run.lines()[0], "it cannot be opened"


async def test_a_history_that_cannot_be_kept_is_said(tmp_path: Path) -> None:
    history = FakeHistory()
    async with driven(tmp_path, FakeChecker(right), history=history) as run:
        assert "history" not in run.lines()[0]
        history.trouble = "the disk is full"
        await run.check()
        assert "!! history not kept" in run.lines()[0]


# ---------------------------------------------------------------- how fast it is


@pytest.mark.parametrize("size", SIZES)
async def test_the_roofline_is_there_while_there_is_an_estimate(tmp_path: Path, size) -> None:
    async with driven(tmp_path, FakeChecker(right), size) as run:
        await run.check()
        await run.press("escape", "o")
        assert not run.one(Work).offers("roofline") and run.one(Work).active != "roofline"
        run.checker.script = estimated
        await run.check()
        await run.press("escape")
        await opened(run, "o", "roofline")
        assert "v5e: estimate, no TPU" in run.text()
        await run.press("c")
        assert "v6e: estimate, no TPU" in run.text()
        await run.press("c")
        assert "v5e: estimate, no TPU" in run.text()
        run.checker.script = right
        await run.check()
        assert not run.one(Work).offers("roofline"), "no picture of an attempt that has no estimate"


async def test_another_exercise_has_another_roof(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(estimated)) as run:
        await run.check()
        assert run.one(Work).offers("roofline")
        run.main.choose("any_sync_copy")
        await run.until(lambda: run.main._desk.exercise.slug == "any_sync_copy")
        assert not run.one(Work).offers("roofline")


async def test_the_words_of_a_roofline_are_no_markup_and_can_be_scrolled_to(tmp_path: Path) -> None:
    def script(source: bytes):
        *first, last = estimated(source)
        one = structs.replace(last.verdict.compile[0], advice="red [/x] \x1b[31m end")
        return [*first, CheckFinished(structs.replace(last.verdict, compile=[one]))]

    async with driven(tmp_path, FakeChecker(script), (40, 12)) as run:
        await run.check()
        await run.press("escape")
        await opened(run, "o", "roofline")
        assert run.one(RooflineView).check_action("chip", ()) is False, "there is one chip only"
        assert "[/x]" not in run.text()
        await run.press(*["down"] * 12)
        assert "red [/x] ␛[31m end" in run.text()
