"""A screen with one attempt on it: opening, saving, checking, leaving. Here it is decided that nothing gets lost."""

from __future__ import annotations

import time
from pathlib import Path

from textual import on
from textual.screen import Screen

from tutor.sets import SetError
from tutor.tui.checks import Checks
from tutor.tui.desk import Desk
from tutor.tui.model import Run
from tutor.tui.ports import Checker, Course, Exercise, History
from tutor.tui.screens.ask import Ask
from tutor.tui.widgets.editor import CodeEditor

_LOOK = 0.7  # seconds between two looks at the file on disk
_KEEP = 1.0  # seconds after which unsaved text is in its side file


class DeskScreen[E: Exercise](Screen[None]):
    """Holds the attempt and its checks. What they look like is for the screen that is made from it."""

    def __init__(
        self, course: Course[E], history: History[E], checker: Checker[E], *, sides: Path | None = None
    ) -> None:
        super().__init__()
        self._course, self._history, self._sides = course, history, sides
        self._checks: Checks[E] = Checks(checker, self.show_run)
        self._desk: Desk[E] | None = None
        self._checked: tuple[E, bytes] | None = None
        self._began = 0.0
        self._asking = False
        self._ready = False
        # Held here, not looked up: after a crash the screen has no parts any more, and its text must still be had.
        self._editor: CodeEditor

    def show_exercise(self, exercise: E) -> None:
        """Show an exercise that has just been put on the desk."""

    def show_run(self, run: Run) -> None:
        """Show where the newest check stands."""

    def show_edit(self) -> None:
        """Show that the text, or what the disk holds, has changed."""

    def _watch_the_desk(self) -> None:
        """From now on there is an editor: look at the disk and keep unsaved text."""
        self._editor = self.query_one(CodeEditor)
        self._ready = True
        self.set_interval(_LOOK, self._look_at_disk)
        self.set_interval(_KEEP, self.keep_unsaved)

    def _complain(self, words: str) -> None:
        self.notify(words, severity="warning", timeout=10, markup=False)

    # ------------------------------------------------------------ opening

    def _open(self, exercise: E) -> None:
        """Put another exercise on the desk. The text on it must be saved or given up by now."""
        try:
            desk = Desk(exercise, self._course.file(exercise), self._sides)
            desk.read()
        except (OSError, SetError) as error:
            self._complain(f"Cannot open the file of {exercise.slug}: {_why(error)}")
            return
        self._desk, self._checked = desk, None
        self._checks.forget(exercise)
        self._put_in_editor()
        self.show_exercise(exercise)
        self.run_worker(self._offers(desk))

    def _put_in_editor(self) -> None:
        assert self._desk is not None
        loaded = self._desk.loaded
        self._editor.read_only = loaded.locked is not None
        self._editor.load_text(loaded.text)
        if loaded.locked:
            self._complain(f"This file is read-only here: {loaded.locked}. Edit it in your own editor.")

    async def _offers(self, desk: Desk[E]) -> None:
        """What a freshly opened attempt raises: one question after the other."""
        if (lost := desk.lost()) is not None and not desk.loaded.locked:
            await self._offer_lost(lost)
        if self._course.newer_starter(desk.exercise):
            await self._offer_starter()

    async def _offer_starter(self) -> None:
        """The set has a changed starter."""

    async def _offer_lost(self, lost: str) -> None:
        answer = await self._ask(
            "There is unsaved text from last time",
            "The tutor ended before it was saved. The file itself is unchanged.",
            ("take", "Take it back into the editor (unsaved)"),
            ("drop", "Throw it away"),
            ("later", "Decide later"),
        )
        if answer == "take":
            self._editor.replace(lost, (0, 0), self._editor.document.end)
        elif answer == "drop" and self._desk is not None:
            self._desk.side.drop()

    # ------------------------------------------------------------ saving and checking

    def action_check(self) -> None:
        """Save what is unsaved and check what the editor shows."""
        if self._desk is None:
            return
        if self.unsaved():
            if self._desk.theirs():
                self.run_worker(self._ask_theirs())
                return
            self._save()
        self._check()

    action_save = action_check

    def action_stop(self) -> None:
        """Cancel the running check."""
        self._checks.cancel()

    def _save(self) -> bool:
        assert self._desk is not None
        try:
            self._desk.write(self._editor.text)
        except OSError as error:
            kept = self._desk.side.keep(self._editor.text)
            where = f" Your text is kept in {kept}." if kept else " Your text is only on this screen."
            self._complain(f"Cannot write {self._desk.path}: {_why(error)}.{where}")
            return False
        self.show_edit()
        return True

    def _check(self) -> None:
        assert self._desk is not None
        source = self._desk.source(self._editor.text)
        self._checked = (self._desk.exercise, source)
        self._began = time.monotonic()
        self._checks.start(self._desk.exercise, source, self._desk.path)

    def _record(self, run: Run) -> bool:
        """Put a verdict into the history, once; the answer is whether it was this time."""
        if run.verdict is None or self._checked is None:
            return False
        (exercise, source), self._checked = self._checked, None
        self._history.add(exercise, source, run.verdict)
        return True

    # ------------------------------------------------------------ unsaved text

    @on(CodeEditor.Changed)
    def _text_changed(self) -> None:
        self.show_edit()

    def unsaved(self) -> bool:
        """Whether the editor holds text that the disk does not."""
        return self._ready and self._desk is not None and self._desk.dirty(self._editor.text)

    def keep_unsaved(self) -> Path | None:
        """Put unsaved text in the side file: the answer is where, None if nothing is unsaved."""
        return self._desk.side.keep(self._editor.text) if self._desk and self.unsaved() else None

    def _look_at_disk(self) -> None:
        if self._desk is None or self._asking or not self._desk.theirs():
            return
        if self.unsaved():
            self.run_worker(self._ask_theirs())
        else:
            self._reload()
            self._check()

    def _reload(self) -> None:
        """Show what the disk holds; the cursor stays where it is."""
        assert self._desk is not None
        try:
            self._desk.read()
        except OSError as error:
            self._complain(f"Cannot read {self._desk.path}: {_why(error)}")
            return
        cursor, top = self._editor.cursor_location, self._editor.scroll_offset.y
        self._put_in_editor()
        self._editor.move_cursor(cursor)
        self._editor.scroll_to(y=top, animate=False)
        self._desk.side.drop()

    # ------------------------------------------------------------ questions

    async def _ask(self, question: str, detail: str, *answers: tuple[str, str]) -> str:
        self._asking = True
        try:
            return await self.app.push_screen_wait(Ask(question, detail, answers))
        finally:
            self._asking = False

    async def _ask_theirs(self) -> None:
        answer = await self._ask(
            "The file was changed by another program",
            "And there is unsaved text here. Which one should stay?",
            ("mine", "Mine: write the text of this editor over the file"),
            ("theirs", "The file: give up the text of this editor"),
            ("later", "Decide later"),
        )
        if answer == "mine" and self._save():
            self._check()
        elif answer == "theirs":
            self._reload()
            self._check()

    async def _settled(self, question: str) -> bool:
        """Whether the text may be left: it is saved, or the learner gave it up."""
        if not self.unsaved() or self._desk is None:
            return True
        answer = await self._ask(
            question,
            str(self._desk.path),
            ("save", "Save it"),
            ("drop", "Throw the changes away"),
            ("stay", "Stay here"),
        )
        if answer == "save":
            return self._save()
        if answer == "drop":
            self._reload()
        return answer == "drop"

    async def _go(self, exercise: E) -> None:
        if await self._settled("Go on with unsaved text?"):
            self._open(exercise)

    def action_reset(self) -> None:
        """Put the starter back, after a question."""
        self.run_worker(self._reset())

    async def _reset(self) -> None:
        if self._desk is None:
            return
        question = f"Put the starter of {self._desk.exercise.slug} back?"
        answers = ("reset", "Put it back; the file of now is kept beside it"), ("stay", "Leave it as it is")
        if await self._ask(question, str(self._desk.path), *answers) == "reset":
            await self._reset_now()

    async def _reset_now(self) -> None:
        """Put the starter back; what it replaces is kept."""
        assert self._desk is not None
        if self.unsaved() and not self._save():
            return
        try:
            kept = self._course.reset(self._desk.exercise)
        except (OSError, SetError) as error:
            self._complain(f"Cannot reset {self._desk.path}: {_why(error)}")
            return
        self._reload()
        if kept is not None:
            self.notify(f"The replaced file is {kept}", markup=False)

    async def quit(self) -> None:
        """End the program, unless unsaved text is wanted."""
        if not self._asking and await self._settled("Quit with unsaved text?"):
            self.app.exit()

    async def on_unmount(self) -> None:
        await self._checks.aclose()


def _why(error: OSError | SetError) -> str:
    """The reason alone: the sentence around it names the file."""
    if isinstance(error, SetError):
        return f"{error.message} {error.hint or ''}".strip()
    return error.strerror or str(error)
