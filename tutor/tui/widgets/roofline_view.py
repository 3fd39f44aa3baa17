"""The roofline of the attempt: the picture, what its letters are, and what would help. Drawn only while looked at."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from tutor.tui.roofline_model import Roofline, Row, Tone, bars, heading, legend, picture, together
from tutor.tui.text import visible

_STYLES: dict[Tone, str] = {
    "roof": "$quiet",
    "axis": "$quiet",
    "label": "$quiet",
    "yours": "bold $text-accent",
    "reference": "bold $text-success",
    "earlier": "$text-warning",
    "several": "bold $text-accent",
}
BESIDE, WORDS = 96, 34
"""From this width on, the words stand beside the picture, this wide."""
LEAST_ROWS, MOST_ROWS = 5, 20


class RooflineView(Vertical, can_focus=True):
    """One picture a chip; `c` turns to the next one."""

    BINDINGS = [
        Binding("c", "chip", "Chip", tooltip="The next chip"),
        Binding("up", "scroll(-1)", "Up", show=False),
        Binding("down", "scroll(1)", "Down", show=False),
        Binding("pageup", "scroll(-1)", "Scroll up", show=False),
        Binding("pagedown", "scroll(1)", "Scroll down", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._pictures: list[Roofline] = []
        self._chip = ""

    def compose(self) -> ComposeResult:
        yield Static(id="roofline-title", markup=False)
        with VerticalScroll(id="roofline-body", can_focus=False):
            yield Static(id="roofline-picture", markup=False)

    def show(self, pictures: Sequence[Roofline]) -> None:
        """Show these; the chip stays where it can."""
        self._pictures = list(pictures)
        self._draw()
        self.refresh_bindings()

    def on_show(self) -> None:
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        if not self._pictures or not self.is_on_screen or not self.size.width:
            return
        now = next((one for one in self._pictures if one.chip == self._chip), self._pictures[0])
        self.query_one("#roofline-title", Static).update(Content.styled(visible(heading(now)), "bold"))
        width, height = self.size.width - 3, self.size.height - 1
        beside = width >= BESIDE
        rows = max(LEAST_ROWS, min(MOST_ROWS, height))
        across = width - WORDS - 2 if beside else width
        if beside:
            lines = _side_by_side(_drawn(now, across, rows), _words(now, WORDS, across, rows), across + 2)
        else:
            below = _words(now, width, across, rows)
            rows = max(LEAST_ROWS, min(MOST_ROWS, height - len(below)))
            lines = _drawn(now, across, rows) + _words(now, width, across, rows)
        self.query_one("#roofline-picture", Static).update(Content("\n").join(lines))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return len(self._pictures) > 1 if action == "chip" else True

    def action_chip(self) -> None:
        """The next chip's picture."""
        chips = [one.chip for one in self._pictures]
        at = chips.index(self._chip) if self._chip in chips else 0
        self._chip = chips[(at + 1) % len(chips)]
        self._draw()

    def action_scroll(self, by: int) -> None:
        body = self.query_one("#roofline-body")
        (body.scroll_down if by > 0 else body.scroll_up)(animate=False)


def _drawn(of: Roofline, width: int, rows: int) -> list[Content]:
    made = bars(of, width) if of.only_moves else picture(of, width, rows)
    return [_content(row) for row in made]


def _content(row: Row) -> Content:
    return Content.assemble(*((visible(text), _STYLES[tone]) for text, tone in row))


def _words(of: Roofline, width: int, across: int, rows: int) -> list[Content]:
    """The legend and the advice, in lines of at most `width`."""
    parts = [Content.styled(visible(words), _STYLES[who]) for words, who in legend(of)]
    if not of.only_moves:
        parts += [Content.styled(f"& {signs}", _STYLES["several"]) for signs in together(of, across, rows)]
    lines = [line for part in parts for line in part.wrap(width)] if width < 60 else _flow(parts, width)
    return lines + (list(Content(visible(of.advice)).wrap(width)) if of.advice else [])


def _flow(parts: Sequence[Content], width: int) -> list[Content]:
    """Parts one after the other, as many in a line as fit."""
    lines: list[Content] = []
    for part in parts:
        if lines and lines[-1].cell_length + 3 + part.cell_length <= width:
            lines[-1] = Content.assemble(lines[-1], "   ", part)
        else:
            lines.append(part)
    return [piece for line in lines for piece in line.wrap(width)]


def _side_by_side(left: Sequence[Content], right: Sequence[Content], at: int) -> list[Content]:
    lines = []
    for n in range(max(len(left), len(right))):
        first = left[n] if n < len(left) else Content("")
        second = right[n] if n < len(right) else Content("")
        lines.append(Content.assemble(first, " " * max(1, at - first.cell_length), second))
    return lines
