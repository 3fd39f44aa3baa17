"""Nothing gets lost: other editors, read-only places, leaving, crashes. And no text of a learner is ever markup."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.tui.fakes import BAD, STARTER, FakeChecker, FakeCourse, events, failing, marked, passing, stage
from tests.tui.screen import SIZES, driven
from tutor.findings import finding
from tutor.protocol import JaxprLine, MarkedJaxpr
from tutor.sets.workspace import write_atomic
from tutor.tui.app import TutorApp
from tutor.tui.files import SideFile, load
from tutor.tui.model import findings
from tutor.tui.screens.ask import Ask
from tutor.tui.widgets.findings_list import FindingsList
from tutor.tui.widgets.jaxpr_view import JaxprView


def wrong(source: bytes):
    return events(failing())


async def choose(run, words: str) -> None:
    """Choose the answer that begins with `words`."""
    await run.until(lambda: isinstance(run.app.screen, Ask))
    keys = [answer for _, answer in run.app.screen._answers]
    at = next(index for index, answer in enumerate(keys) if answer.startswith(words))
    await run.press(*["down"] * at, "enter")
    await run.until(lambda: not isinstance(run.app.screen, Ask))


# ---------------------------------------------------------------- leaving


@pytest.mark.parametrize("size", SIZES)
async def test_quitting_with_unsaved_text_asks_and_staying_changes_nothing(tmp_path: Path, size) -> None:
    async with driven(tmp_path, FakeChecker(wrong), size) as run:
        await run.edit("a", "ctrl+q")
        await run.until(lambda: isinstance(run.app.screen, Ask))
        assert "unsaved text" in run.text()
        await run.press("escape")
        assert run.app.is_running and run.editor.text == "a" + STARTER and run.path.read_text() == STARTER


async def test_quitting_can_save(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(wrong)) as run:
        path = run.path
        await run.edit("a", "ctrl+q")
        await run.until(lambda: isinstance(run.app.screen, Ask))
        await run.press("enter")
        await run.until(lambda: run.app._exit)
    assert path.read_text() == "a" + STARTER and SideFile(path).read() is None


async def test_quitting_can_throw_away(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(wrong)) as run:
        path = run.path
        await run.edit("a", "ctrl+q")
        await run.until(lambda: isinstance(run.app.screen, Ask))
        await run.press("down", "enter")
        await run.until(lambda: run.app._exit)
    assert path.read_text() == STARTER and SideFile(path).read() is None


async def test_quitting_with_saved_text_just_quits(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(wrong)) as run:
        await run.press("ctrl+q")
        await run.until(lambda: run.app._exit)


async def test_another_exercise_is_opened_only_when_the_text_is_safe(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(wrong)) as run:
        await run.edit("a")
        run.main.choose("any_sync_copy")
        await choose(run, "Stay")
        assert run.editor.text == "a" + STARTER
        run.main.choose("any_sync_copy")
        old = run.path
        await choose(run, "Save")
        await run.until(lambda: "any_sync_copy" in run.lines()[0])
        assert old.read_text() == "a" + STARTER and run.editor.text == STARTER


# ---------------------------------------------------------------- crashes


async def test_unsaved_text_is_in_the_side_file_before_any_crash_and_offered_next_time(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(wrong)) as run:
        await run.edit("z")
        await run.until(lambda: SideFile(run.path).read())
        path = run.path
        run.app.exit()
    assert SideFile(path).read() == "z" + STARTER and path.read_text() == STARTER
    async with driven(tmp_path, FakeChecker(wrong)) as run:
        await choose(run, "Take it back")
        assert run.editor.text == "z" + STARTER and path.read_text() == STARTER
        await run.press("ctrl+s")
        await run.until(lambda: run.history.added)
        assert path.read_text() == "z" + STARTER and SideFile(path).read() is None


async def test_a_crash_of_the_screen_keeps_the_text(tmp_path: Path) -> None:
    class Crash(Exception):
        pass

    app: TutorApp | None = None
    with pytest.raises(Crash):
        async with driven(tmp_path, FakeChecker(wrong)) as run:
            app = run.app
            await run.edit("q")
            run.main.call_later(_raise, Crash())
            await run.app._exception_event.wait()
    assert app is not None
    kept = app.main.keep_unsaved()
    assert kept is not None and kept.read_text() == "q" + STARTER


def _raise(error: Exception) -> None:
    raise error


async def test_a_workspace_that_cannot_be_written_keeps_the_text_elsewhere_and_still_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, state = tmp_path / "work", tmp_path / "state"
    real = write_atomic

    def refuse(path: Path, data: bytes) -> None:
        if workspace in path.parents:
            raise OSError(30, "Read-only file system")
        real(path, data)

    monkeypatch.setattr("tutor.tui.desk.write_atomic", refuse)
    monkeypatch.setattr("tutor.tui.files.write_atomic", refuse)
    async with driven(workspace, FakeChecker(wrong), sides=state) as run:
        await run.edit("a", "ctrl+s")
        await run.until(lambda: run.history.added)
        assert "Read-only" in run.text()
        assert run.checker.started[0].startswith(b"aimport") and run.path.read_text() == STARTER
        assert [path.read_text() for path in state.iterdir()] == ["a" + STARTER]
        assert run.main.unsaved()


# ---------------------------------------------------------------- other editors


async def test_a_file_written_by_another_editor_is_reloaded_and_checked(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(wrong)) as run:
        await run.edit()
        run.editor.go_to(16)
        run.path.write_text("# theirs\n" + STARTER)
        await run.until(lambda: run.history.added)
        assert run.editor.text == "# theirs\n" + STARTER and run.editor.cursor_location[0] == 15
        assert run.checker.started == [("# theirs\n" + STARTER).encode()]


async def test_a_file_written_by_another_editor_is_asked_about_when_there_is_unsaved_text(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(wrong)) as run:
        await run.edit("a")
        run.path.write_text("# theirs\n")
        await choose(run, "Decide later")
        assert run.editor.text == "a" + STARTER and run.path.read_text() == "# theirs\n"
        run.path.write_text("# theirs again\n")
        await choose(run, "The file")
        assert run.editor.text == "# theirs again\n"


async def test_a_question_that_is_left_by_ctrl_q_can_be_asked_again(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(wrong)) as run:
        await run.edit("a", "ctrl+q")
        await run.until(lambda: "Quit with unsaved text?" in run.text())
        await run.press("ctrl+q")
        assert "Quit with unsaved text?" not in run.text() and run.editor.text.startswith("a")
        await run.press("ctrl+q")
        await run.until(lambda: "Quit with unsaved text?" in run.text())


async def test_saving_over_a_file_that_was_changed_meanwhile_asks(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(wrong)) as run:
        await run.edit("a")
        run.path.write_text("# theirs\n")
        await run.press("ctrl+s")
        await choose(run, "Mine")
        await run.until(lambda: run.history.added)
        assert run.path.read_text() == "a" + STARTER


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"x = '\xff'\n", "not UTF-8 at byte 5"),
        (b"x = 1\x0cy = 2\n", "line breaks that Python does not count"),
        (b"x = 1\r\ny = 2\n", "line ends are mixed"),
    ],
)
async def test_a_file_that_the_editor_would_change_is_read_only_and_checked_as_it_is(
    tmp_path: Path, data: bytes, why: str
) -> None:
    course = FakeCourse(tmp_path)
    path = course.file(course.exercises[2])
    path.write_bytes(data)
    async with driven(tmp_path, FakeChecker(wrong), course=course) as run:
        await run.until(lambda: any(why in note.message for note in run.app._notifications))
        await run.press("f4", "a", "f5")
        await run.until(lambda: run.history.added)
        assert path.read_bytes() == data == run.checker.started[0]


async def test_windows_line_ends_stay(tmp_path: Path) -> None:
    course = FakeCourse(tmp_path)
    path = course.file(course.exercises[2])
    path.write_bytes(b"x = 1\r\ny = 2\r\n")
    async with driven(tmp_path, FakeChecker(wrong), course=course) as run:
        await run.edit("a", "enter", "ctrl+s")
        await run.until(lambda: run.history.added)
        assert path.read_bytes() == b"a\r\nx = 1\r\ny = 2\r\n"


def test_a_plain_file_is_not_locked(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = '宽'\n")
    assert load(tmp_path / "a.py").locked is None


# ---------------------------------------------------------------- text is never markup

HOSTILE = [
    "[/x]",
    "x[i]",
    "[bold red]no[/]",
    "\x1b[2J\x1b[31m",
    "\x9b31m",
    "\u202eevil",
    "宽" * 60,
    "x" * 5000,
    "\ttab",
]


@pytest.mark.parametrize("size", SIZES)
async def test_hostile_text_is_shown_and_harms_nothing(tmp_path: Path, size) -> None:
    words = ""

    def script(source: bytes):
        bad = finding("KT203", words, raw=words, hint=words, case=words, line=1)
        body = [(f"    a = {words}", JaxprLine(kind="load", ref=words, space="vmem", source_line=1))]
        results = {result.name: result for result in passing()}
        results["hazards"] = stage("hazards", "failed", bad, reason=words)
        results["device"] = stage("device", "unavailable", reason=words)
        return events(list(results.values()), output=words, jaxpr=marked(body))

    async with driven(tmp_path, FakeChecker(script), size) as run:
        for words in HOSTILE:
            await run.press("f4")
            run.editor.load_text(f"# {words}\nx = '{words}'\n")
            await run.check()
            for keys in (["f4"], ["f8"], ["f10", "r", "ctrl+t"]):
                await run.press(*keys)
                text = run.text()
                assert not any((ord(c) < 32 and c != "\n") or 0x7F <= ord(c) < 0xA0 or c == "\u202e" for c in text)
            if words.isascii() and words.isprintable() and len(words) < 40:
                assert words in text
            assert [found.message for _, found in findings(run.main._checks.run)] == [words]
            await run.press("escape")


async def test_wide_characters_keep_the_gutter_in_place(tmp_path: Path) -> None:
    course = FakeCourse(tmp_path)
    course.file(course.exercises[2]).write_text("x = '宽宽宽'  # 测试\ny = 1\n")
    async with driven(tmp_path, FakeChecker(wrong), course=course) as run:
        await run.press("f4")
        await run.settle()
        assert any("1       x = '宽宽宽'  # 测试" in line for line in run.lines())


async def test_a_jaxpr_of_5000_lines_is_rendered_only_where_it_is_seen(tmp_path: Path) -> None:
    rows = [(f"    v{n}:f32[8,128] = add a b", JaxprLine(primitive="add", source_line=1 + n % 30)) for n in range(5000)]
    big = marked(rows)
    async with driven(tmp_path, FakeChecker(lambda source: events(passing(), jaxpr=big))) as run:
        await run.check()
        view = run.one(JaxprView)
        asked: list[int] = []
        inner = view._segments
        view._segments = lambda line, base: asked.append(line) or inner(line, base)  # type: ignore[method-assign]
        await run.press("f8", "end")
        assert view.cursor == 4999 and "v4999" in run.text()
        assert len(set(asked)) < 200


async def test_folding_hides_lines_and_the_cursor_never_gets_lost(tmp_path: Path) -> None:
    async with driven(tmp_path, FakeChecker(wrong)) as run:
        await run.check()
        await run.press("f8")
        view = run.one(JaxprView)
        view.go_to(6)
        await run.press("space")
        assert view.cursor == 4 and "broadcast_in_dim" not in run.text() and "… 3 lines" in run.text()
        await run.press("down")
        assert view.cursor == 8
        view.go_to(5)
        await run.settle()
        assert view.cursor == 5 and "broadcast_in_dim" in run.text()


async def test_a_jaxpr_whose_records_are_fewer_than_its_lines_does_not_break(tmp_path: Path) -> None:
    odd = MarkedJaxpr(text="a\nb\nc", lines=[JaxprLine(kind="load", source_line=99)], spans=[])
    async with driven(tmp_path, FakeChecker(lambda source: events(passing(), jaxpr=odd))) as run:
        await run.check()
        await run.press("f8", "down", "down", "down", "up", "end", "enter", "f8", "space")
        assert run.one(JaxprView).cursor in range(3)


async def test_the_same_finding_of_two_cases_is_said_once(tmp_path: Path) -> None:
    twice = [stage("load", "passed"), stage("trace", "failed", BAD, BAD)]
    async with driven(tmp_path, FakeChecker(lambda source: events(twice))) as run:
        await run.check()
        assert run.one(FindingsList).option_count == 1


async def test_checks_of_an_exercise_that_was_left_are_not_recorded(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with driven(tmp_path, FakeChecker(wrong, gate=gate)) as run:
        await run.press("f5")
        await run.until(lambda: run.checker.started)
        run.main.choose("any_sync_copy")
        await run.until(lambda: run.checker.cancelled)
        gate.set()
        await run.pilot.pause(0.1)
        assert not run.history.added and "not passed" not in run.lines()[0]
