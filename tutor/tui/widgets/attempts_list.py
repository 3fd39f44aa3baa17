"""What was tried before: one line an attempt, the newest first."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from textual.binding import Binding
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tutor.record import Attempt


def when(at: float) -> str:
    """A moment as people here write it."""
    return f"{datetime.datetime.fromtimestamp(at):%Y-%m-%d %H:%M}"


class AttemptsList(OptionList):
    """Enter opens an attempt to read it."""

    BINDINGS = [
        Binding("enter", "select", "Open", tooltip="Read this attempt; from there it can be compared or restored")
    ]

    class Chosen(Message):
        """The learner wants to see this attempt."""

        def __init__(self, attempt: Attempt) -> None:
            self.attempt = attempt
            super().__init__()

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)
        self._attempts: list[Attempt] = []

    def show(self, attempts: Sequence[Attempt]) -> None:
        """Show these attempts, given oldest first."""
        newest = list(reversed(attempts))
        if newest == self._attempts:
            return
        self._attempts = newest
        self.clear_options()
        total = len(newest)
        self.add_options(Option(_line(attempt, total - i), id=str(i)) for i, attempt in enumerate(newest))
        self.highlighted = 0 if newest else None

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Chosen(self._attempts[int(event.option_id or 0)]))


def _line(attempt: Attempt, number: int) -> Content:
    status = ("✓ passed    ", "$text-success") if attempt.passed else ("!! not passed", "$text-error")
    return Content.assemble(
        (f"{number:>4}  ", "$quiet"), f"{when(attempt.at)}  ", status, (f"  score {attempt.score:.2f}", "$quiet")
    )
