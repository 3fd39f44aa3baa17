"""Two jaxprs aligned, and above them one sentence about the difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from tutor.protocol import Kernel, MarkedJaxpr
from tutor.tui.text import visible
from tutor.tui.widgets.jaxpr_view import JaxprView


@dataclass(frozen=True)
class Side:
    """One of the two: what it is called, its kernels and its jaxpr."""

    name: str
    kernels: Sequence[Kernel]
    jaxpr: MarkedJaxpr


class CompareView(Vertical):
    """Beside each other where there is room; it lays itself out anew when that changes."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._sides: tuple[Side, Side] | None = None
        self._width = 0

    def compose(self) -> ComposeResult:
        yield Static(id="compare-words", markup=False)
        yield JaxprView(id="compare-view")

    def show(self, yours: Side, other: Side) -> None:
        """Show these two."""
        from tutor.tui.compare_model import SIGN_WORDS, difference

        self._sides, self._width = (yours, other), 0
        said = difference(yours.kernels, other.kernels, other.name)
        legend = "   ".join(f"{sign} {words}" for sign, words in SIGN_WORDS.items() if sign != " ")
        self.query_one("#compare-words", Static).update(
            Content.assemble(
                (visible(said), "bold"), (f"\n{visible(yours.name)} │ {visible(other.name)}   {legend}", "$quiet")
            )
        )
        self._lay_out()

    def on_resize(self) -> None:
        self._lay_out()

    def _lay_out(self) -> None:
        view = self.query_one(JaxprView)
        width = view.size.width - 11  # its gutter, and the scroll bar
        if self._sides is not None and view.size.width and width != self._width:
            from tutor.tui.compare_model import compared

            self._width = width
            view.show(compared(self._sides[0].jaxpr, self._sides[1].jaxpr, width))
