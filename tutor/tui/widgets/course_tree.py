"""The exercises by chapter, each with a mark for how far the learner is."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input, Static, Tree
from textual.widgets.tree import TreeNode

from tutor.sets import Broken, chapter_title
from tutor.tui.ports import Exercise
from tutor.tui.text import visible

MARKS = {"solved": "✓", "tried": "~", "untouched": "·", "broken": "!"}


class Exercises(Tree[Exercise | Broken]):
    """The tree itself: no guides beyond one level, chapters open."""

    def render_label(self, node: TreeNode[Exercise | Broken], base_style: Style, style: Style) -> Text:
        label = node.label.copy() if isinstance(node.label, Text) else Text(str(node.label))
        label.stylize(style)
        return label


class CourseTree(Vertical):
    """A filter and the tree. It lies over the screen until an exercise is chosen.

    The filter has the focus, so that typing filters; the keys that move reach the tree all the same.
    """

    BINDINGS = [
        Binding("escape", "leave", "Close", tooltip="Close the list"),
        Binding("up", "tree('cursor_up')", "Up", show=False),
        Binding("down", "tree('cursor_down')", "Down", show=False),
        Binding("pageup", "tree('page_up')", "Page up", show=False),
        Binding("pagedown", "tree('page_down')", "Page down", show=False),
    ]

    class Chosen(Message):
        """The learner chose an exercise."""

        def __init__(self, slug: str) -> None:
            self.slug = slug
            super().__init__()

    class Closed(Message):
        """The learner closed the list."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._exercises: Sequence[Exercise] = ()
        self._solved: frozenset[str] = frozenset()
        self._tried: frozenset[str] = frozenset()
        self._broken: Sequence[Broken] = ()
        self._current = ""

    def action_leave(self) -> None:
        self.post_message(self.Closed())

    async def action_tree(self, action: str) -> None:
        """Let the tree do this."""
        await self.query_one(Exercises).run_action(action)

    def open(self) -> None:
        """Show the list, ready to be filtered."""
        self.add_class("-open")
        self.query_one(Input).value = ""
        self.query_one(Input).focus()

    def compose(self) -> ComposeResult:
        yield Input(placeholder="filter: name, title or concept", compact=True)
        tree = Exercises("")
        tree.show_root = False
        tree.guide_depth = 2
        yield tree
        yield Static(id="about", markup=False)

    def show(
        self,
        exercises: Sequence[Exercise],
        solved: frozenset[str],
        tried: frozenset[str],
        current: str,
        broken: Sequence[Broken] = (),
    ) -> None:
        """Show these exercises with their marks, the cursor on the current one. Broken ones cannot be opened."""
        self._exercises, self._solved, self._tried, self._current = exercises, solved, tried, current
        self._broken = broken
        self._fill(self.query_one(Input).value)

    def _fill(self, wanted: str) -> None:
        tree = self.query_one(Exercises)
        tree.clear()
        words = wanted.lower().split()
        chapters: dict[str, list[Exercise]] = {}
        broken = [each for each in self._broken if all(word in each.slug for word in words)]
        for each in broken:
            chapters.setdefault(each.chapter, [])
        for exercise in self._exercises:
            text = " ".join([exercise.slug, exercise.title, *exercise.concepts]).lower()
            if all(word in text for word in words):
                chapters.setdefault(exercise.chapter, []).append(exercise)
        target = None
        for chapter, exercises in sorted(chapters.items()) if broken else chapters.items():
            done = sum(exercise.slug in self._solved for exercise in exercises)
            title = Text.assemble((visible(chapter_title(chapter)), "bold"), (f"  {done}/{len(exercises)}", "dim"))
            branch = tree.root.add(title, expand=True)
            for exercise in exercises:
                leaf = branch.add_leaf(self._label(exercise), data=exercise)
                if target is None or exercise.slug == self._current:
                    target = leaf
            for each in broken:
                if each.chapter == chapter:
                    colour = Style(color=self.app.theme_variables["store"])
                    branch.add_leaf(Text.assemble((MARKS["broken"], colour), " ", visible(each.slug)), data=each)
        tree.root.expand()
        if target is not None:
            self.call_after_refresh(tree.move_cursor, target)

    def _label(self, exercise: Exercise) -> Text:
        state = "solved" if exercise.slug in self._solved else "tried" if exercise.slug in self._tried else "untouched"
        colours = self.app.theme_variables
        style = {"solved": Style(color=colours["copy"]), "tried": Style(color=colours["store"])}.get(state, Style())
        here = Style(bold=True) if exercise.slug == self._current else Style()
        return Text.assemble((MARKS[state], style), " ", (visible(exercise.slug), here))

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._fill(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        tree = self.query_one(Exercises)
        chosen = tree.cursor_node.data if tree.cursor_node is not None else None
        if chosen is not None and not isinstance(chosen, Broken):
            self.post_message(self.Chosen(chosen.slug))

    def on_tree_node_highlighted(self, event: Tree.NodeHighlighted[Exercise | Broken]) -> None:
        exercise = event.node.data
        if isinstance(exercise, Broken):
            words = f"Cannot be loaded: {exercise.error.message}"
        else:
            words = f"{exercise.title}\n{exercise.summary}" if exercise is not None else ""
        self.query_one("#about", Static).update(visible(words, keep="\n"))

    def on_tree_node_selected(self, event: Tree.NodeSelected[Exercise | Broken]) -> None:
        event.stop()
        if event.node.data is not None and not isinstance(event.node.data, Broken):
            self.post_message(self.Chosen(event.node.data.slug))
