"""A question with a few answers. Nothing happens until one of them is chosen; Escape chooses the last."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tutor.tui.text import visible


class Ask(ModalScreen[str]):
    """Answers with the key of the chosen answer. `answers` are pairs of key and words; the last one changes nothing."""

    CSS_PATH = "modal.tcss"
    BINDINGS = [Binding("escape", "stay", "Back")]

    def __init__(self, question: str, detail: str, answers: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._question, self._detail, self._answers = question, detail, answers

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(Content.styled(visible(self._question), "bold"), classes="title")
            yield Static(Content(visible(self._detail, keep="\n")), classes="detail")
            yield OptionList(*[Option(words, id=key) for key, words in self._answers], markup=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id or self._answers[-1][0])

    def action_stay(self) -> None:
        self.dismiss(self._answers[-1][0])
