"""The speeds of all attempts above the list of them: a plot where there is room, else one line."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from tutor.record import Speed
from tutor.tui.speed_plot import Tone, heading, legend, plot, series
from tutor.tui.text import visible

_STYLES: dict[Tone, str] = {
    "axis": "$quiet",
    "passed": "bold $text-success",
    "not passed": "bold $text-error",
    "reference": "$text-accent",
}
ROWS = 6
ROOM = 18
"""The plot is shown from this height of the screen on."""


class SpeedHistory(Static):
    """Takes no room while no attempt has a speed."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)
        self._speeds: list[Speed] = []

    def show(self, speeds: Sequence[Speed]) -> None:
        """Show these, given oldest first."""
        self._speeds = series(speeds)
        self.set_class(not self._speeds, "-off")
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        if not self._speeds or not self.size.width:
            return
        lines = [Content.styled(visible(heading(self._speeds)), "bold")]
        if self.app.size.height >= ROOM and (rows := plot(self._speeds, self.size.width, ROWS)):
            made = [*rows, legend()]
            lines += [Content.assemble(*((visible(text), _STYLES[tone]) for text, tone in row)) for row in made]
        self.update(Content("\n").join(lines))
