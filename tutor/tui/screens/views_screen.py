"""What is asked for beside the attempt itself: other programs to compare with or to read, and the whole program."""

from __future__ import annotations

from pathlib import Path

from textual import on

from tutor.protocol import MarkedJaxpr, Verdict
from tutor.record import Attempt
from tutor.sets import SetError
from tutor.tui.checks import source_lines
from tutor.tui.model import Run, Trace
from tutor.tui.ports import Exercise
from tutor.tui.screens.desk_screen import DeskScreen
from tutor.tui.screens.source import SourcePage
from tutor.tui.widgets.attempts_list import AttemptsList, when
from tutor.tui.widgets.compare_view import Side
from tutor.tui.widgets.work import Work

_MOST = 20  # attempts to choose from when comparing; the tab has all


class ViewsScreen[E: Exercise](DeskScreen[E]):
    """Other programs are traced by the checker, never run; which of them may be seen the history says."""

    _trace: Trace | None = None
    _lowering: Trace | None = None
    _whole = False

    @property
    def _work(self) -> Work:
        return self.query_one(Work)

    def show_jaxpr(self, jaxpr: MarkedJaxpr) -> None:
        """Show this as the jaxpr of the attempt."""

    def show_attempts(self) -> None:
        """Show what was tried before, if anything was."""
        if self._desk is None:
            self._work.show_attempts([], [])
            return
        exercise = self._desk.exercise
        self._work.show_attempts(self._history.attempts(exercise), self._history.speeds(exercise))

    def show_speed(self, verdict: Verdict | None) -> None:
        """Show how fast the attempt is, beside the reference and what was tried before; nothing without a verdict."""
        if verdict is None or self._desk is None:
            self._work.show_rooflines([])
            return
        from tutor.tui.roofline_model import rooflines

        speeds = self._history.speeds(self._desk.exercise)
        self._work.show_rooflines(rooflines(verdict.compile, verdict.timing, speeds))

    def show_lowering(self, run: Run) -> None:
        """The lowered module, or what was refused, once it is known."""
        result = run.results.get("lower")
        if run.trace is None or (run.lowered is None and result is None) or self._lowering is run.trace:
            return
        if result is not None and result.status == "failed":
            from tutor.tui.mosaic_model import refused

            self._lowering = run.trace
            self._work.show_mosaic(*(refused(run.trace, result.findings) or (None, 0)))
        elif run.lowered is not None and result is not None:
            from tutor.tui.mosaic_model import readable

            self._lowering = run.trace
            self._work.show_mosaic(readable(run.lowered.mosaic, run.lowered.path))

    # ------------------------------------------------------------ the whole program

    def action_whole(self) -> None:
        """Show the whole program with its index maps instead of the kernels, or the kernels again."""
        self._whole = not self._whole
        self.show_extent()

    def show_extent(self) -> None:
        """Show as much of the traced program as is wanted."""
        if self._whole:
            self.run_worker(self._show_whole(), group="whole", exclusive=True)
        elif self._trace is not None:
            self.show_jaxpr(self._trace.jaxpr)

    async def _show_whole(self) -> None:
        trace, desk = self._trace, self._desk
        if trace is None or desk is None:
            return
        # The lines of the trace, not of the editor: those may have been edited since.
        traced = await self._traced(desk.exercise, "\n".join(trace.lines).encode(), desk.path, whole=True)
        if trace is not self._trace or not self._whole:
            return
        if traced is None:
            self._whole = False
            self.notify("Of this exercise there is no whole program to show.", markup=False)
        else:
            self.show_jaxpr(traced.jaxpr)

    async def _traced(self, exercise: E, source: bytes, path: Path, *, whole: bool = False) -> Trace | None:
        try:
            made = await self._checks.checker.trace(exercise, source, path, whole=whole)
        except Exception as error:  # a fault of ours must not end the program: it is said, and nothing is lost
            self._complain(f"Tracing failed: {error}")
            return None
        return None if made is None else Trace(tuple(source_lines(source)), tuple(made.kernels), made.jaxpr, made.facts)

    # ------------------------------------------------------------ comparing

    def action_compare(self) -> None:
        """Choose what to compare the attempt with."""
        self.run_worker(self._compare())

    async def _compare(self) -> None:
        if self._desk is None:
            return
        if self._trace is None:
            self.notify("There is no trace of yours yet: check with F5 first.", markup=False)
            return
        exercise = self._desk.exercise
        reference, hidden = self._shown_reference(exercise)
        answers = [("reference", "The reference solution")] if reference else []
        attempts = self._history.attempts(exercise)
        newest = {attempt.sha256: (attempt, number) for number, attempt in enumerate(attempts, 1)}
        known = sorted(newest.values(), key=lambda each: each[0].id, reverse=True)[:_MOST]
        answers += [
            (str(attempt.id), _name(attempt, number) + (", passed" if attempt.passed else ""))
            for attempt, number in known
        ]
        answer = await self._ask("Compare yours with what?", hidden, *answers, ("stay", "Back"))
        if answer == "reference":
            await self._compare_with_reference(exercise)
        elif answer != "stay":
            attempt, number = next(each for each in known if str(each[0].id) == answer)
            await self._compare_with(exercise, _name(attempt, number), self._history.source(attempt), self._desk.path)

    async def _compare_with_reference(self, exercise: E) -> None:
        path = self._course.reference(exercise)
        source = self._read(path)
        if path is not None and source is not None:
            self._history.mark_revealed(exercise)
            await self._compare_with(exercise, "the reference", source, path)

    async def _compare_with(self, exercise: E, name: str, source: bytes | None, path: Path) -> None:
        if source is None:
            return
        other = await self._traced(exercise, source, path)
        if self._desk is None or self._desk.exercise is not exercise or self._trace is None:
            return
        if other is None:
            self.notify(f"{name} does not trace, so there is no jaxpr to compare with.", markup=False)
            return
        mine = self._trace
        yours = Side("yours", mine.kernels, mine.jaxpr)
        self._work.show_comparison((yours, Side(name, other.kernels, other.jaxpr)))
        self._work.open("compare")

    # ------------------------------------------------------------ tuning

    def action_tune(self) -> None:
        """Try other block sizes for the text in the editor."""
        if self._desk is None:
            return
        from tutor.tui.screens.tune import TunePage

        desk, source = self._desk, self._editor.text.encode("utf-8", errors="replace")
        sweep = self._checks.checker.tune(desk.exercise, source, desk.path)
        self.app.push_screen(TunePage(desk.exercise.slug, sweep))

    # ------------------------------------------------------------ reading

    def _shown_reference(self, exercise: E) -> tuple[Path | None, str]:
        """The reference solution, if the set has one and shows it by now; else why not, in words for the learner."""
        path = self._course.reference(exercise)
        hidden = self._history.why_hidden(exercise) if path else "This copy of the set has no solutions."
        return (path, "") if hidden is None else (None, hidden)

    def action_solution(self) -> None:
        """The reference solution, if the set shows it by now."""
        if self._desk is None:
            return
        exercise = self._desk.exercise
        path, hidden = self._shown_reference(exercise)
        if path is None:
            self.notify(hidden, timeout=8, markup=False)
            return
        self.run_worker(self._show_solution(exercise, path))

    async def _show_solution(self, exercise: E, path: Path) -> None:
        source = self._read(path)
        if source is None:
            return
        self._history.mark_revealed(exercise)
        offers = ("compare",) if self._trace is not None else ()
        page = SourcePage(f"The solution of {exercise.slug}", source.decode(errors="replace"), offers)
        if await self.app.push_screen_wait(page) == "compare":
            await self._compare_with(exercise, "the reference", source, path)

    @on(AttemptsList.Chosen)
    def _attempt_chosen(self, event: AttemptsList.Chosen) -> None:
        self.run_worker(self._show_attempt(event.attempt))

    async def _show_attempt(self, attempt: Attempt) -> None:
        source = self._history.source(attempt)
        if source is None or self._desk is None:
            return
        exercise, path = self._desk.exercise, self._desk.path
        offers = ("restore", "compare") if self._trace is not None else ("restore",)
        text = source.decode(errors="replace")
        name = f"attempt of {when(attempt.at)}"
        match await self.app.push_screen_wait(SourcePage(f"Your {name}", text, offers)):
            case "restore":
                await self._restore(text, name)
            case "compare":
                await self._compare_with(exercise, name, source, path)

    async def _restore(self, text: str, name: str) -> None:
        """Put the text of an earlier attempt into the editor, unsaved; Ctrl+Z brings back what was there."""
        if self._editor.read_only:
            self._complain("This file is read-only here, so nothing can be put back into it.")
            return
        answers = ("take", "Put it into the editor, unsaved"), ("stay", "Leave the editor as it is")
        if await self._ask(f"Restore your {name}?", "Ctrl+Z takes it back. Nothing is saved.", *answers) == "take":
            self._editor.replace(text, (0, 0), self._editor.document.end)
            self._work.open("edit")

    def _read(self, path: Path | None) -> bytes | None:
        try:
            return path.read_bytes() if path is not None else None
        except OSError as error:
            self._complain(f"Cannot read {path}: {error.strerror}")
            return None

    # ------------------------------------------------------------ a changed starter

    async def _offer_starter(self) -> None:
        """The set has another starter than the one that this file was made from: offered once, never just taken."""
        if self._desk is None:
            return
        exercise = self._desk.exercise
        answer = await self._ask(
            f"The set has a changed starter for {exercise.slug}",
            "Your file is as you left it.",
            ("keep", "Keep mine; do not ask again"),
            ("take", "Take the new one; the file of now is kept beside it"),
            ("later", "Decide later"),
        )
        try:
            if answer == "keep":
                self._course.keep_mine(exercise)
            elif answer == "take":
                await self._reset_now()
        except (OSError, SetError) as error:
            self._complain(str(error))


def _name(attempt: Attempt, number: int) -> str:
    return f"attempt {number} of {when(attempt.at)}"
