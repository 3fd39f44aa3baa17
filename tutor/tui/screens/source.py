"""A program to read, not to edit: an earlier attempt, or the solution."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tutor.tui.text import visible
from tutor.tui.widgets.editor import CodeEditor
from tutor.tui.widgets.key_line import KeyLine


class SourcePage(ModalScreen[str | None]):
    """Answers `restore` or `compare` where that was offered and wanted, else None."""

    CSS_PATH = "modal.tcss"
    BINDINGS = [
        Binding("escape,q", "answer('')", "Close"),
        Binding("r", "answer('restore')", "Restore", tooltip="Put this text into the editor"),
        Binding("d", "answer('compare')", "Compare", tooltip="Compare its jaxpr with yours"),
    ]

    def __init__(self, title: str, source: str, offers: tuple[str, ...]) -> None:
        super().__init__()
        self._title, self._source, self._offers = title, source, offers

    def compose(self) -> ComposeResult:
        with Vertical(classes="page"):
            yield Static(Content.styled(visible(self._title), "bold $text-accent"), classes="title")
            yield CodeEditor()
            yield KeyLine()

    def on_mount(self) -> None:
        editor = self.query_one(CodeEditor)
        editor.read_only = True
        editor.load_text(visible(self._source, keep="\n\t"))
        editor.focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "answer" or not parameters[0] or parameters[0] in self._offers

    @on(CodeEditor.Left)
    def _left(self) -> None:
        self.dismiss(None)

    def action_answer(self, answer: str) -> None:
        self.dismiss(answer or None)
