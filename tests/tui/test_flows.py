"""What a learner does with keys, from the first lesson to going on."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.tui.fakes import EXERCISES, FakeChecker, FakeHistory, events, failing, judged, passing, stage
from tests.tui.screen import SIZES, driven
from tutor.protocol import PREDICT_STAGES, STAGES
from tutor.tui.model import Run
from tutor.tui.widgets.access_table import AccessTable
from tutor.tui.widgets.findings_list import FindingsList
from tutor.tui.widgets.jaxpr_view import JaxprView
from tutor.tui.widgets.work import Work


def wrong(source: bytes):
    return events(failing())


@pytest.mark.parametrize("size", SIZES)
async def test_a_lesson_is_shown_first_and_a_check_fills_the_ladder(tmp_path: Path, size) -> None:
    async with driven(tmp_path, FakeChecker(wrong), size) as run:
        assert "Keep partial sums in float32" in run.text()
        assert run.one(Work).active == "lesson"
        await run.check()
        assert run.checker.started == [run.path.read_bytes()]
        assert "!!" in run.text() and "Right in some cases" in run.text()
        assert run.one(Work).active == "lesson", "nothing jumps by itself"
        assert run.history.added[0][0] == "f32_accumulator"


async def test_typing_saves_and_checks_the_new_text(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(wrong)) as run:
        await run.edit()
        await run.press(*"# hi", "enter")
        assert "modified" in run.lines()[0]
        await run.press("ctrl+s")
        await run.until(lambda: run.history.added)
        assert run.path.read_text().startswith("# hi\nimport jax")
        assert run.checker.started == [run.path.read_bytes()]
        assert "modified" not in run.lines()[0]


async def test_a_newer_save_cancels_the_running_check(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with driven(tmp_path, FakeChecker(judged, gate=gate)) as run:
        await run.edit("a", "ctrl+s")
        await run.until(lambda: len(run.checker.started) == 1)
        assert "checking" in run.lines()[0]
        await run.press("b", "ctrl+s")
        await run.until(lambda: len(run.checker.started) == 2)
        gate.set()
        await run.until(lambda: run.history.added)
        assert [source[:2] for source in run.checker.cancelled] == [b"ai"]
        assert [source[:2] for source in run.checker.finished] == [b"ab"]
        assert [source[:2] for _, source, _ in run.history.added] == [b"ab"]


async def test_checks_are_followed_when_tasks_start_eagerly_as_in_the_real_app(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(wrong)) as run:
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
        run.checker.pace = -1
        await run.press("f5")
        await run.until(lambda: run.history.added)
        await run.press("f5")
        await run.until(lambda: len(run.history.added) == 2)
        asyncio.get_running_loop().set_task_factory(None)


async def test_escape_leaves_the_editor_and_a_second_one_stops_the_check(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(wrong, gate=asyncio.Event())) as run:
        await run.press("f4", "f5")
        await run.until(lambda: run.checker.started)
        await run.press("escape")
        assert not run.editor.has_focus and not run.checker.cancelled
        await run.press("escape")
        await run.until(lambda: run.checker.cancelled)
        assert "cancelled" in run.lines()[0] and not run.history.added


async def test_going_on_is_possible_only_after_a_pass(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(judged)) as run:
        assert "F6" not in run.lines()[-1]
        await run.press("f6")
        assert "f32_accumulator" in run.lines()[0]
        await run.check()
        assert "F6 next" in run.lines()[-1]
        assert "f32_accumulator" in run.lines()[0], "nothing jumps by itself"
        assert "3 of 4" in run.lines()[0]
        await run.press("f6")
        await run.until(lambda: "any_sync_copy" in run.lines()[0])
        assert run.main._checks.run == Run()


async def test_letters_act_outside_the_editor_and_are_text_inside(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(judged)) as run:
        await run.check()
        await run.press("j")
        assert run.one(Work).active == "jaxpr"
        await run.edit("n", "j", "h")
        assert run.editor.text.startswith("njhimport")
        await run.press("ctrl+z", "ctrl+s", "escape")
        await run.until(lambda: not run.editor.has_focus)
        await run.press("n")
        await run.until(lambda: "any_sync_copy" in run.lines()[0])


async def test_hints_come_one_at_a_time_and_are_recorded(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(wrong)) as run:
        await run.press("f7")
        assert "Where does the rounding happen?" in run.text()
        assert "Look at" not in run.text() and run.history.hints == {"f32_accumulator": 1}
        await run.press("escape", "f7")
        assert run.history.hints == {"f32_accumulator": 1}, "looking again costs nothing"
        await run.press("f7")
        assert "Look at x[i] and [/x]." in run.text() and run.history.hints == {"f32_accumulator": 2}
        await run.press("h", "h", "h")
        assert run.history.hints == {"f32_accumulator": 3}


async def test_findings_go_to_the_line_and_explain_themselves(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(wrong)) as run:
        await run.check()
        await run.press("f")
        assert run.one(FindingsList).has_focus
        assert "[/raw]" not in run.text()
        await run.press("r")
        assert "relative error 6.7e-3 [/raw]" in run.text()
        await run.press("question_mark")
        assert "KT203" in run.text() and "error grows with k" in run.text()
        await run.press("escape", "enter")
        assert run.editor.has_focus and run.editor.cursor_location == (15, 8)


async def test_a_finding_points_at_its_line_after_edits_above_it(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(wrong)) as run:
        await run.check()
        await run.edit("enter", "enter", "f10", "enter")
        assert run.editor.cursor_location[0] == 17


async def test_jaxpr_and_source_move_together(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(wrong)) as run:
        await run.check()
        await run.edit()
        run.editor.go_to(14)
        await run.settle()
        view = run.one(JaxprView)
        await run.until(lambda: view.cursor == 6)
        await run.press("f8")
        await run.until(lambda: view.has_focus)
        await run.press("right_square_bracket")
        assert view.cursor == 8 and run.editor.cursor_location[0] == 15
        assert "L load" in run.lines()[-4] and "line 16" in run.lines()[-4]
        assert "Load: copies a slice of a Ref into registers." in run.lines()[-3]
        await run.press("enter")
        await run.until(lambda: run.editor.has_focus)
        assert run.editor.cursor_location[0] == 15


async def test_a_tab_takes_the_focus_as_it_opens(tmp_path: Path) -> None:
    """Not a moment later: the view that is hidden would pass it on, and its tab would come back to the front."""
    async with driven(tmp_path, FakeChecker(wrong)) as run:
        await run.check()
        await run.press("f8")
        await run.until(lambda: run.one(JaxprView).has_focus)
        run.main.action_tab("edit")
        assert run.main.focused is run.editor
        await run.until(lambda: run.editor.has_focus)
        assert run.main._work.active == "edit"


async def test_the_gutter_marks_what_lines_do_and_follows_edits(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(wrong)) as run:
        await run.check()
        await run.press("f4")
        assert any(line.startswith("16!LLLA") for line in run.lines())
        await run.press("ctrl+home", "enter")
        assert any(line.startswith("17!LLLA") for line in run.lines())
        run.editor.go_to(17)
        await run.settle()
        await run.press("end", "x")
        assert not any("LLLA" in line for line in run.lines()), "an edited line is no longer what was traced"


async def test_the_access_table_counts_loads_and_bytes(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(wrong)) as run:
        await run.check()
        await run.press("f8")
        table = run.one(AccessTable)
        rows = [[cell.plain for cell in table.get_row_at(row)] for row in range(table.row_count)]
        assert rows[0] == [
            "a_ref", "vmem", "128×128", "bf16", "1", "·", "·", "·", "32 KiB", "4 MiB ×4", "1 MiB", "8 tiles",
            "512×1024",
        ]  # fmt: skip
        assert rows[2][9:11] == ["512 KiB", "512 KiB"]
        assert rows[3][4:11] == ["2", "1", "1", "·", "256 KiB", "-", ""]
        assert rows[4][2:11] == ["grid 4×4×8", "", "4", "2", "1", "·", "all:", "8 MiB in", "512 KiB out"]


async def test_the_list_of_exercises_filters_and_opens(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(wrong)) as run:
        await run.press("f2")
        assert "✓ read_then_compute" in run.text() and "· any_sync_copy" in run.text()
        await run.press(*"dma")
        assert "read_then_compute" not in run.text()
        await run.press("enter")
        await run.until(lambda: "any_sync_copy" in run.lines()[0])
        assert run.path.name == "01_any_sync_copy.py"


async def test_the_arrows_move_in_the_list_while_its_filter_has_the_focus(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(wrong)) as run:
        await run.press("f2", "up", "up", "enter")
        await run.until(lambda: "block_copy" in run.lines()[0])


async def test_the_list_does_not_hide_what_is_opened_from_it(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(wrong)) as run:
        await run.press("f2")
        assert "filter" in run.text()
        await run.press("f4")
        await run.until(lambda: run.editor.has_focus and "filter" not in run.text())


async def test_the_jaxpr_opens_at_the_line_that_was_checked_with_the_cursor_on_it(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(wrong)) as run:
        await run.edit()
        run.editor.go_to(14)
        await run.settle()
        await run.check()
        await run.press("f8")
        await run.until(lambda: run.one(JaxprView).cursor == 6)


async def test_the_palette_opens_exercises_by_name(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(wrong)) as run:
        await run.press("ctrl+p", *"open any")
        await run.until(lambda: "any_sync_copy" in run.text())
        await run.press("enter")
        await run.until(lambda: "any_sync_copy" in run.lines()[0])


async def test_a_fault_of_the_tutor_is_said_and_loses_nothing(tmp_path: Path) -> None:
    def broken(source: bytes):
        raise RuntimeError("worker [/x] vanished")

    async with driven(tmp_path, FakeChecker(broken)) as run:
        await run.edit("a", "f5")
        await run.until(lambda: "The tutor itself failed" in run.text())
        assert "worker [/x] vanished" in run.text()
        assert run.path.read_text().startswith("aimport")
        run.checker.script = judged
        await run.check()
        assert "passed" in run.lines()[0]


async def test_output_of_the_attempt_has_a_tab_only_if_there_is_any(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(wrong)) as run:
        await run.check()
        assert "Output" not in run.text()
        run.checker.script = judged
        await run.check()
        await run.until(lambda: "Output" in run.text())
        run.one(Work).open("output")
        await run.until(lambda: "hello" in run.text())
        assert "[/x] ␛[31m red" in run.text()


async def test_stages_that_the_checker_does_not_run_are_not_shown(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(wrong, asked=("load", "trace", "interpret"))) as run:
        assert "interpret" in run.text() and "compile" not in run.text() and "Is it fast?" not in run.text()


async def test_everything_solved_opens_the_first_and_says_so(tmp_path: Path) -> None:
    history = FakeHistory(done={exercise.slug for exercise in EXERCISES})
    async with driven(tmp_path, FakeChecker(lambda source: events(passing())), history=history) as run:
        assert "read_then_compute" in run.lines()[0]
        await run.press("f6")
        await run.until(lambda: "Every exercise is solved." in run.text())


async def test_start_names_the_exercise_to_open(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(wrong), start="any_sync_copy") as run:
        assert "any_sync_copy" in run.lines()[0]


async def test_the_help_page_names_every_key(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(wrong), (120, 100)) as run:
        await run.press("f1")
        for words in ("F5 Ctrl+R", "F6 n", "Escape", "LLLA"[:1], "accumulate", "solved"):
            assert words in run.text()


@pytest.mark.skipif(os.name != "posix", reason="modes")
async def test_the_checker_is_closed_at_the_end(tmp_path: Path) -> None:
    checker = FakeChecker(wrong, gate=asyncio.Event())
    async with driven(tmp_path, checker) as run:
        await run.press("f5")
        await run.until(lambda: checker.started)
        await run.press("ctrl+q")
        await run.until(lambda: not run.app.is_running or checker.closed)
    assert checker.closed and checker.cancelled == checker.started


async def test_a_long_reason_is_read_in_full(tmp_path: Path) -> None:
    reason = "libtpu is not installed. Add it with: uv sync --extra tpu, then the layout is asked of the real compiler."
    results = [*passing()[:-2], stage("compile", "unavailable", reason=reason)]
    async with driven(tmp_path, FakeChecker(lambda source: events(results), asked=STAGES[:-1])) as run:
        await run.check()
        assert "real compiler." in run.text() and "not all asked" in run.text()


async def test_escape_closes_the_list_from_the_filter_too(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(wrong)) as run:
        await run.press("f2", *"dma", "escape")
        assert "filter" not in run.text() and "✓ read_then_compute" not in run.text()
        assert run.one(Work).content_focused


async def test_a_predict_exercise_has_its_own_ladder_before_the_first_check(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(lambda source: events(passing()), asked=PREDICT_STAGES)) as run:
        assert "Are the answers right?" in run.text()
        assert "Is it fast?" not in run.text()
