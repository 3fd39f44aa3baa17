"""The tabs: the lesson, the editor, the jaxpr with its table, and the output if the attempt printed any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Markdown, Static, TabbedContent, TabPane, Tabs

from tutor.protocol import CaseError, CaseFacts, MarkedJaxpr
from tutor.record import Attempt, Speed
from tutor.tui.access_model import notes
from tutor.tui.model import Trace, walkable
from tutor.tui.ports import Exercise
from tutor.tui.roofline_model import Roofline
from tutor.tui.text import visible
from tutor.tui.widgets.access_table import AccessTable
from tutor.tui.widgets.attempts_list import AttemptsList
from tutor.tui.widgets.compare_view import CompareView, Side
from tutor.tui.widgets.editor import CodeEditor
from tutor.tui.widgets.grid_view import GridView
from tutor.tui.widgets.jaxpr_view import JaxprView
from tutor.tui.widgets.line_bar import LineBar
from tutor.tui.widgets.roofline_view import RooflineView
from tutor.tui.widgets.speed_history import SpeedHistory

# What takes the focus when a tab is opened.
_CONTENT = {
    "lesson": "#lesson-text",
    "edit": "CodeEditor",
    "jaxpr": "#jaxpr-view",
    "grid": "GridView",
    "mosaic": "#mosaic-view",
    "compare": "#compare-view",
    "roofline": "RooflineView",
    "history": "AttemptsList",
    "output": "#output-text",
}
# Tabs that are only there when they have something to show.
_SOMETIMES = ("lesson", "grid", "mosaic", "compare", "roofline", "history")
JAXPRS = ("jaxpr", "mosaic", "compare")
"""The tabs whose content is marked text."""


class Work(Vertical):
    """Shows what it is given; `Turned` says that another tab is in front."""

    class Turned(Message):
        """Another tab is in front."""

    def compose(self) -> ComposeResult:
        with TabbedContent(initial="lesson"):
            with TabPane("Lesson", id="lesson"), VerticalScroll(id="lesson-text"):
                yield Markdown(open_links=False)
            with TabPane("Edit", id="edit"):
                yield CodeEditor()
            with TabPane("Jaxpr", id="jaxpr"):
                yield JaxprView(id="jaxpr-view")
                yield AccessTable()
                yield Static(id="access-notes")
            with TabPane("Grid", id="grid"):
                yield GridView()
            with TabPane("Mosaic", id="mosaic"):
                yield JaxprView(id="mosaic-view")
            with TabPane("Compare", id="compare"):
                yield CompareView()
            with TabPane("Roof", id="roofline"):
                yield RooflineView()
            with TabPane("History", id="history"):
                yield SpeedHistory()
                yield AttemptsList()
        yield LineBar()
        yield Static(id="meaning")

    def on_mount(self) -> None:
        for name in _SOMETIMES[1:]:
            self._tabs.hide_tab(name)

    @property
    def _tabs(self) -> TabbedContent:
        return self.query_one(TabbedContent)

    @property
    def active(self) -> str:
        """The name of the tab in front."""
        return self._tabs.active

    @property
    def content_focused(self) -> bool:
        """Whether the content of the tab in front has the focus."""
        return self.query_one(_CONTENT[self.active]).has_focus if self.active in _CONTENT else False

    def open(self, name: str) -> None:
        """Bring a tab to the front and give its content the focus.

        The focus goes first. A tab that is hidden while it holds the focus passes it on to a neighbour within it,
        and that would bring the hidden tab back to the front.
        """
        self.screen.set_focus(self.query_one(_CONTENT[name]), scroll_visible=False)
        self._tabs.active = name

    def focus_tabs(self) -> None:
        """Give the focus to the row of tabs."""
        self.query_one(Tabs).focus()

    def show_lesson(self, exercise: Exercise) -> None:
        """Show the lesson from its beginning; without a lesson there is no tab for it."""
        self._show_tab("lesson", bool(exercise.lesson))
        self.query_one(Markdown).update(visible(exercise.lesson, keep="\n\t"))
        self.query_one("#lesson-text").scroll_home(animate=False)

    def show_trace(self, trace: Trace | None) -> None:
        """Show what a trace knows, or that there is none."""
        view, table = self.query_one("#jaxpr-view", JaxprView), self.query_one(AccessTable)
        if trace is None:
            view.clear()
            table.clear(columns=True)
        else:
            view.show(trace.jaxpr)
            table.show(trace.kernels, trace.facts[0] if trace.facts else None)
        said = notes(trace.jaxpr) if trace is not None and trace.kernels else []
        remarks = self.query_one("#access-notes", Static)
        remarks.update(Content(visible("\n".join(said), keep="\n")))
        remarks.set_class(not said, "-off")

    def show_grid(self, facts: Sequence[CaseFacts], errors: Mapping[str, CaseError]) -> None:
        """Show the walk over the grid, and where the results of these cases are wrong."""
        self._show_tab("grid", bool(walkable(facts)))
        self.query_one(GridView).show(facts, errors)

    def show_mosaic(self, text: MarkedJaxpr | None, line: int = 0) -> None:
        """Show a lowered module, or where lowering was refused, from this line on; None if there is neither."""
        self._show_tab("mosaic", text is not None)
        view = self.query_one("#mosaic-view", JaxprView)
        if text is None:
            view.clear()
        else:
            view.show(text)
            if line:
                view.go_to(line)

    def show_comparison(self, sides: tuple[Side, Side] | None) -> None:
        """Show two jaxprs beside each other; None takes the tab away."""
        self._show_tab("compare", sides is not None)
        if sides is not None:
            self.query_one(CompareView).show(*sides)

    def show_rooflines(self, pictures: Sequence[Roofline]) -> None:
        """Show how fast the attempt is beside what its chip can do; without a picture there is no tab."""
        self._show_tab("roofline", bool(pictures))
        self.query_one(RooflineView).show(pictures)

    def show_attempts(self, attempts: Sequence[Attempt], speeds: Sequence[Speed]) -> None:
        """Show what was tried before, and how fast it was."""
        self.query_one(SpeedHistory).show(speeds)
        self._show_tab("history", bool(attempts))
        self.query_one(AttemptsList).show(attempts)

    @property
    def marked(self) -> JaxprView | None:
        """The marked text of the tab in front, if that is what it shows."""
        return self.query_one(_CONTENT[self.active], JaxprView) if self.active in JAXPRS else None

    def _show_tab(self, name: str, there: bool) -> None:
        if there:
            self._tabs.show_tab(name)
        else:
            if self.active == name and self.content_focused:
                self.screen.set_focus(self.query_one(Tabs), scroll_visible=False)
            self._tabs.hide_tab(name)

    def offers(self, name: str) -> bool:
        """Whether there is such a tab now."""
        return self._tabs.get_tab(name).display if name in _SOMETIMES else bool(self.query(_CONTENT[name]))

    def explain(self, words: str) -> None:
        """Say what the primitive under the cursor of the jaxpr does."""
        self.query_one("#meaning", Static).update(Content(visible(words)))

    def show_output(self, output: str) -> None:
        """Show what the attempt printed, in a tab that is only there if it printed something."""
        self.run_worker(self._show_output(output), group="output", exclusive=True)

    async def _show_output(self, output: str) -> None:
        there = bool(self.query("#output"))
        if output.strip():
            words = Content(visible(output, keep="\n"))
            if not there:
                pane = TabPane("Output", VerticalScroll(Static(id="output-words"), id="output-text"), id="output")
                await self._tabs.add_pane(pane)
            self.query_one("#output-words", Static).update(words)
        elif there:
            await self._tabs.remove_pane("output")

    @on(TabbedContent.TabActivated)
    def _turned(self, event: TabbedContent.TabActivated) -> None:
        event.stop()
        self.query_one(LineBar).set_class(self.active not in ("edit", *JAXPRS), "-off")
        self.query_one("#meaning").set_class(self.active not in ("jaxpr", "compare"), "-off")
        self.post_message(self.Turned())
