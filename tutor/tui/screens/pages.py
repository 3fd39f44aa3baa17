"""Pages to read: one finding explained, the hints, the keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tutor.findings import UnknownCode, page
from tutor.protocol import Finding
from tutor.tui.keys import GROUPS
from tutor.tui.model import LETTERS
from tutor.tui.text import visible
from tutor.tui.theme import KIND_COLOURS, SIGNS
from tutor.tui.widgets.course_tree import MARKS
from tutor.tui.widgets.findings_list import prose
from tutor.tui.widgets.key_line import KeyLine


class Page(ModalScreen[None]):
    """A title and text to scroll; Escape, `q` or the key that opened it closes it."""

    CSS_PATH = "modal.tcss"
    BINDINGS = [Binding("escape,q", "dismiss", "Close")]
    AUTO_FOCUS = "VerticalScroll"

    def __init__(self, title: str, parts: Sequence[Content]) -> None:
        super().__init__()
        self._title, self._parts = title, parts

    def compose(self) -> ComposeResult:
        with Vertical(classes="page"):
            yield Static(Content.styled(visible(self._title), "bold $text-accent"), classes="title")
            with VerticalScroll():
                for part in self._parts:
                    yield Static(part, classes="part")
            yield KeyLine()


def explanation(finding: Finding) -> Page:
    """The page of a finding's code, under what was found in this attempt."""
    parts = [prose(finding.message)]
    if finding.hint:
        parts.append(prose(finding.hint).stylize("italic"))
    try:
        known = page(finding.code)
    except UnknownCode:
        known = None
    if known is not None:
        sections = known.sections + ([("The lesson", known.lesson)] if known.lesson else [])
        parts += [Content.styled(f"{heading}\n", "bold") + prose(words) for heading, words in sections]
        if known.example.strip():
            parts.append(_section("The smallest example", known.example))
    if finding.raw:
        parts.append(_section("What JAX itself says", finding.raw))
    return Page(f"{finding.code}  {finding.title}", parts)


def _section(heading: str, words: str) -> Content:
    return Content.assemble((f"{heading}\n", "bold"), visible(words.strip("\n"), keep="\n"))


def key_page() -> Page:
    """Every key, and what the signs mean."""
    parts = []
    for title, keys in GROUPS.items():
        lines = [Content.assemble((f"  {key:<16}", "$footer-key-foreground"), words) for key, words in keys]
        parts.append(Content("\n").join([Content.styled(title, "bold"), *lines]))
    gutter = [
        Content.assemble((f"  {letter} ", f"bold {KIND_COLOURS[kind]}"), kind.replace("_", " "))
        for kind, letter in LETTERS.items()
    ]
    parts.append(Content("\n").join([Content.styled("Letters in the gutter", "bold"), *gutter]))
    stages = [Content.assemble((f"  {sign:<3} ", style), phase) for phase, (sign, style) in SIGNS.items()]
    parts.append(Content("\n").join([Content.styled("Signs of the stages", "bold"), *stages]))
    marks = [Content(f"  {mark} {word}") for word, mark in MARKS.items()]
    parts.append(Content("\n").join([Content.styled("Marks of the exercises", "bold"), *marks]))
    return Page("Keys", parts)


class Hints(ModalScreen[None]):
    """The hints used so far; one more only when it is asked for."""

    CSS_PATH = "modal.tcss"
    BINDINGS = [
        Binding("escape,q", "dismiss", "Close"),
        Binding("f7,h", "more", "One more hint"),
    ]
    AUTO_FOCUS = "VerticalScroll"

    def __init__(self, hints: Sequence[str], used: int, use: Callable[[], int]) -> None:
        super().__init__()
        self._hints, self._used, self._use = hints, used, use

    def compose(self) -> ComposeResult:
        with Vertical(classes="page"):
            yield Static(Content(""), classes="title")
            with VerticalScroll():
                yield Static(Content(""), id="hints")
            yield KeyLine()

    def on_mount(self) -> None:
        if self._used == 0:
            self.action_more()
        self._show()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self._used < len(self._hints) if action == "more" else True

    def action_more(self) -> None:
        self._used = min(self._use(), len(self._hints))
        self._show()
        self.refresh_bindings()

    def _show(self) -> None:
        title = f"Hint {self._used} of {len(self._hints)}" if self._hints else "No hints"
        self.query_one(".title", Static).update(Content.styled(title, "bold $text-accent"))
        words = [
            Content.assemble((f"{number}  ", "bold $quiet"), visible(hint, keep="\n"))
            for number, hint in enumerate(self._hints[: self._used], 1)
        ]
        self.query_one("#hints", Static).update(Content("\n\n").join(words))
        self.query_one(VerticalScroll).scroll_end(animate=False)
