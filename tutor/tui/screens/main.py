"""The main screen: layout, and what each key does. What is shown comes from a `Run`; files are the desk's."""

from __future__ import annotations

import time
from pathlib import Path

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.geometry import Size
from textual.widgets import Static

from tutor.protocol import CaseError, MarkedJaxpr
from tutor.sets import chapter_title
from tutor.tui.keys import bindings
from tutor.tui.model import Run, Shift, caused_by, errors, flags, letters
from tutor.tui.ports import Checker, Course, Exercise, History
from tutor.tui.screens.views_screen import ViewsScreen
from tutor.tui.text import seconds
from tutor.tui.widgets.course_tree import CourseTree
from tutor.tui.widgets.editor import CodeEditor
from tutor.tui.widgets.findings_list import FindingsList
from tutor.tui.widgets.jaxpr_view import JaxprView
from tutor.tui.widgets.key_line import KeyLine
from tutor.tui.widgets.ladder_view import LadderView
from tutor.tui.widgets.line_bar import LineBar, about_jaxpr, about_source
from tutor.tui.widgets.status_line import StatusLine
from tutor.tui.widgets.work import Work


class MainScreen[E: Exercise](ViewsScreen[E]):
    """One exercise at a time: read, edit, check, understand, go on."""

    BINDINGS = [*bindings()]
    AUTO_FOCUS = ""
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (60, "-normal"), (100, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-medium"), (32, "-tall")]

    def __init__(
        self,
        course: Course[E],
        history: History[E],
        checker: Checker[E],
        *,
        start: str | None = None,
        check: bool = False,
        sides: Path | None = None,
    ) -> None:
        super().__init__(course, history, checker, sides=sides)
        self._start, self._check_first = start, check
        self._device = ""
        self._wrong: dict[str, CaseError] | None = None
        self._shift = Shift.between((), ())

    # ------------------------------------------------------------ layout

    def compose(self) -> ComposeResult:
        yield StatusLine()
        with Horizontal(id="body"):
            with Vertical(id="work"):
                yield Static(" Opening …", id="opening")  # seen only where the machine is busy
            with Vertical(id="side"):
                yield LadderView()
                yield FindingsList(id="findings")
        yield KeyLine()

    def on_mount(self) -> None:
        self._fit(self.app.size)
        self.query_one(LadderView).run = self._checks.run
        self.query_one(FindingsList).show(self._checks.run)
        # The frame is on screen before the parts that are slow to import are.
        self.call_after_refresh(self._furnish)

    async def _furnish(self) -> None:
        await self.query_one("#work").mount(Work())
        await self.query_one("#opening").remove()
        await self.mount(CourseTree())
        self._watch_the_desk()
        self._clock = self.set_interval(0.1, self._tick, pause=True)
        wanted = next((e for e in self._course.exercises if e.slug == self._start), None)
        exercise = wanted or self._next_unsolved(None) or next(iter(self._course.exercises), None)
        if exercise is not None:
            self._open(exercise)
        self.run_worker(self._checks.checker.warm())
        if self._check_first and self._desk is not None:
            self._check()

    def on_resize(self, event: events.Resize) -> None:
        self._fit(event.size)

    def _fit(self, size: Size) -> None:
        small = size.width < 60 or size.height < 20
        self.query_one(LadderView).lines = 1 if small else 2 if size.width < 100 else 0

    # ------------------------------------------------------------ parts

    @property
    def _jaxpr(self) -> JaxprView:
        return self.query_one("#jaxpr-view", JaxprView)

    @property
    def _status(self) -> StatusLine:
        return self.query_one(StatusLine)

    # ------------------------------------------------------------ exercises

    def _next_unsolved(self, after: E | None) -> E | None:
        exercises, solved = list(self._course.exercises), self._history.solved()
        at = next((i + 1 for i, e in enumerate(exercises) if after is not None and e.slug == after.slug), 0)
        return next((e for e in exercises[at:] + exercises[:at] if e.slug not in solved and e is not after), None)

    def show_exercise(self, exercise: E) -> None:
        self._trace, self._wrong, self._lowering = None, None, None
        self._editor.show_marks({}, ())
        self._work.show_lesson(exercise)
        self._work.show_trace(None)
        self._work.show_grid((), {})
        self._work.show_mosaic(None)
        self._work.show_comparison(None)
        self.show_speed(None)
        self.show_attempts()
        self._work.show_output("")
        self._show_place()
        touched = exercise.slug in self._history.tried() | self._history.solved()
        self.action_tab("edit" if touched or not exercise.lesson else "lesson")

    def _show_place(self) -> None:
        if self._desk is None:
            return
        exercise, solved = self._desk.exercise, self._history.solved()
        exercises = self._course.exercises
        done = sum(e.slug in solved for e in exercises)
        chapter = f"{chapter_title(exercise.chapter)} / " if exercise.chapter else ""
        self._status.place = chapter + exercise.slug
        self._status.progress = f"{done} of {len(exercises)}" if len(exercises) > 1 else ""
        chips = f"chips {' '.join(self._course.chips)}" if self._course.chips else ""
        self._status.machine = f"{chips}   {self._device}".strip()
        tree = self.query_one(CourseTree)
        tree.show(exercises, solved, self._history.tried(), exercise.slug, self._course.broken)
        self._status.trouble = "history not kept" if self._history.trouble else ""
        self.refresh_bindings()

    def choices(self) -> list[tuple[str, str]]:
        """Slug and title of every exercise."""
        return [(exercise.slug, exercise.title) for exercise in self._course.exercises]

    def choose(self, slug: str) -> None:
        """Open the exercise with this slug, if the text on the desk may be left."""
        exercise = next((e for e in self._course.exercises if e.slug == slug), None)
        self.action_exercises(False)
        if exercise is not None and (self._desk is None or exercise.slug != self._desk.exercise.slug):
            self.run_worker(self._go(exercise))

    def action_exercises(self, show: bool | None = None) -> None:
        """Open or close the list of exercises."""
        drawer = self.query_one(CourseTree)
        opened = not drawer.has_class("-open") if show is None else show
        if opened:
            drawer.open()
        else:
            drawer.remove_class("-open")
            self.action_tab(self._work.active)

    # ------------------------------------------------------------ the check

    def show_run(self, run: Run) -> None:
        if not self._ready:
            return
        self.query_one(LadderView).run = run
        self.query_one(FindingsList).show(run)
        self._editor.show_flags(flags(run), run.lines)
        if run.trace is not None and run.trace is not self._trace:
            self._trace = run.trace
            self._editor.show_marks(letters(run.trace.kernels), run.trace.lines)
            self._work.show_trace(run.trace)
            self._wrong = None
            self.show_extent()
            self.show_edit()
        if self._trace is not None and self._wrong != (wrong := errors(run) if run.trace is self._trace else {}):
            self._wrong = wrong
            self._work.show_grid(self._trace.facts, wrong)
        self.show_lowering(run)
        if self._record(run) and run.verdict is not None:
            self._work.show_output(run.verdict.output)
            self._device = run.verdict.environment.device or "no TPU"
            self.show_attempts()
            self.show_speed(run.verdict)
            self._show_place()
        self._tick()
        (self._clock.resume if run.running else self._clock.pause)()
        self.refresh_bindings()

    def show_jaxpr(self, jaxpr: MarkedJaxpr) -> None:
        self._jaxpr.show(jaxpr)
        self._describe()

    def _tick(self) -> None:
        run, status = self._checks.run, self._status
        if run.running:
            doing, tone = f".. checking {time.monotonic() - self._began:.1f} s", "$text-accent"
        elif run.verdict is not None:
            took = seconds(run.verdict.seconds)
            doing, tone = (
                (f"ok passed {took}", "$text-success") if run.passed else (f"!! not passed {took}", "$text-error")
            )
        elif run.trouble is not None:
            doing, tone = "?? the tutor failed", "$text-warning"
        else:
            doing, tone = ("-- cancelled" if run.cancelled else ""), "$quiet"
        status.doing, status.tone = doing, tone

    def show_edit(self) -> None:
        self._editor.settle()
        self._shift = Shift.between(self._trace.lines if self._trace else (), self._editor.document.lines)
        self._status.unsaved = self.unsaved()
        self._describe()

    # ------------------------------------------------------------ source and jaxpr, side by side

    @on(CodeEditor.SelectionChanged)
    def _cursor_in_source(self) -> None:
        if self._editor.has_focus and self._trace is not None:
            for view in self.query(JaxprView):
                self._follow(view)
        self._describe()

    def _follow(self, view: JaxprView) -> None:
        """Put the cursor of a marked text where the line of the editor's cursor is, unless it is there already."""
        here = self._editor.cursor_location[0] + 1
        then = self._shift.then(here)
        if then is None or view.jaxpr is None or self._source_line(view, view.cursor) == here:
            return
        if (there := caused_by(view.jaxpr, then)) is not None:
            view.go_to(there)

    @on(JaxprView.Moved)
    def _cursor_in_jaxpr(self, event: JaxprView.Moved) -> None:
        line = self._source_line(event.view, event.line)
        if line is not None:
            self._editor.go_to(line)
        self._describe()

    @on(JaxprView.SourceWanted)
    def _show_source(self, event: JaxprView.SourceWanted) -> None:
        line = self._source_line(event.view, event.line)
        if line is not None:
            self._editor.go_to(line)
            self.action_tab("edit")

    @on(FindingsList.LineWanted)
    def _show_line(self, event: FindingsList.LineWanted) -> None:
        shift = Shift.between(self._checks.run.lines, self._editor.document.lines)
        line = shift.now(event.finding.line or 1)
        self.action_tab("edit")
        self._editor.go_to(line or event.finding.line or 1, event.finding.column or 0)

    def _source_line(self, view: JaxprView, line: int) -> int | None:
        record = view.record(line)
        then = record.source_line if record is not None else None
        return self._shift.now(then) if then is not None else None

    def _describe(self) -> None:
        bar = self.query_one(LineBar)
        if (view := self._work.marked) is not None:
            record = view.record(view.cursor)
            if record is None or view.jaxpr is None:
                bar.words = Content("")
                self._work.explain("")
                return
            here = self._source_line(view, view.cursor)
            source = self._editor.document.get_line(here - 1) if here is not None else "(edited since)"
            bar.words = about_jaxpr(record, here, source)
            self._work.explain(view.jaxpr.explanations.get(record.primitive or "", ""))
        else:
            bar.words = about_source(self._trace, self._shift.then(self._editor.cursor_location[0] + 1))

    # ------------------------------------------------------------ keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if not self._ready:
            return action == "help_keys"
        match action:
            case "next":
                solved = self._desk is not None and self._desk.exercise.slug in self._history.solved()
                return len(self._course.exercises) > 1 and (self._checks.run.passed or solved)
            case "exercises":
                return len(self._course.exercises) > 1 or bool(self._course.broken)
            case "reset":
                return self._desk is not None and bool(self._desk.exercise.starter)
            case "solution":
                return self._desk is not None and self._course.reference(self._desk.exercise) is not None
            case "stop":
                return self._checks.run.running
            case "hint":
                return self._desk is not None and bool(self._desk.exercise.hints)
            case "tab":
                name = str(parameters[0])
                return self._work.offers(name) and (name != self._work.active or not self._work.content_focused)
            case "table":
                return self._work.active == "jaxpr"
            case "whole":
                return self._trace is not None and self._work.active == "jaxpr"
            case "why":
                return self.query_one(FindingsList).current is not None
        return True

    def action_tab(self, name: str) -> None:
        """Open a tab and give its content the focus."""
        self._work.open(name)
        self._describe()

    @on(Work.Turned)
    def _tab_turned(self) -> None:
        self.set_class(self._work.active == "compare", "-beside")
        # A trace may have come while the cursor of the editor stood still.
        if self._work.active == "jaxpr":
            self._follow(self._jaxpr)
        self._describe()
        self.refresh_bindings()

    @on(CourseTree.Chosen)
    def _exercise_chosen(self, event: CourseTree.Chosen) -> None:
        self.choose(event.slug)

    @on(CourseTree.Closed)
    def _drawer_closed(self) -> None:
        self.action_exercises(False)

    @on(CodeEditor.Left)
    def _leave_editor(self) -> None:
        self._work.focus_tabs()

    def on_descendant_focus(self) -> None:
        # The list lies over the work: it must not hide what has the focus now.
        for drawer in self.query(CourseTree):
            if self.focused is not None and drawer not in self.focused.ancestors:
                drawer.remove_class("-open")
        self.refresh_bindings()

    def action_findings(self) -> None:
        """Give the findings the focus."""
        self.query_one(FindingsList).focus()

    def action_why(self) -> None:
        """Open the page of the finding under the cursor."""
        self.query_one(FindingsList).action_why()

    @on(FindingsList.PageWanted)
    def _explain(self, event: FindingsList.PageWanted) -> None:
        from tutor.tui.screens.pages import explanation

        self.app.push_screen(explanation(event.finding))

    def action_help_keys(self) -> None:
        """All keys and signs."""
        from tutor.tui.screens.pages import key_page

        self.app.push_screen(key_page())

    def action_hint(self) -> None:
        """The hints used so far, and one more when asked for."""
        from tutor.tui.screens.pages import Hints

        if self._desk is not None:
            exercise = self._desk.exercise
            used = self._history.hints_used(exercise)
            self.app.push_screen(Hints(exercise.hints, used, lambda: self._history.use_hint(exercise)))

    def action_next(self) -> None:
        """Go on to the next unsolved exercise."""
        exercise = self._next_unsolved(self._desk.exercise if self._desk else None)
        if exercise is None:
            self.notify("Every exercise is solved.", markup=False)
        else:
            self.run_worker(self._go(exercise))

    def action_table(self) -> None:
        """Show or hide the access table."""
        self.toggle_class("-table")
