"""The marked jaxpr. Only the lines on screen are rendered, so a jaxpr of thousands of lines opens at once."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tutor.protocol import JaxprLine, MarkedJaxpr, Span
from tutor.tui.model import LETTERS
from tutor.tui.text import visible
from tutor.tui.theme import KIND_COLOURS, SPACE_COLOURS

_GUTTER = 9  # line number, letter, fold sign
_ROLES = {
    "variable": "$foreground",
    "type": "$quiet",
    "literal": "$syntax-number",
    "param": "$quiet",
    "comment": "$syntax-comment",
    "primitive": "$syntax-call",
}


class JaxprView(ScrollView, can_focus=True):
    """A cursor, folds and colours over a `MarkedJaxpr`. Lines are 0-based, as in the record."""

    BINDINGS = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home", "edge(0)", "Top", show=False),
        Binding("end", "edge(-1)", "End", show=False),
        Binding("space", "fold", "Fold", tooltip="Fold or unfold the region under the cursor"),
        Binding("left_square_bracket", "hop(-1)", "Previous access", show=False),
        Binding("right_square_bracket", "hop(1)", "Next access", key_display="]", tooltip="Go to the next access"),
        Binding("enter", "source", "Source line", tooltip="Go to the source line that caused this"),
    ]
    COMPONENT_CLASSES = {"jaxpr--cursor", "jaxpr--gutter"}

    class Moved(Message):
        """The cursor is on another line."""

        def __init__(self, view: JaxprView, line: int) -> None:
            self.view, self.line = view, line
            super().__init__()

    class SourceWanted(Message):
        """The learner wants to see the source of this line."""

        def __init__(self, view: JaxprView, line: int) -> None:
            self.view, self.line = view, line
            super().__init__()

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.jaxpr: MarkedJaxpr | None = None
        self.cursor = 0
        self._text: list[str] = []
        self._spans: dict[int, list[Span]] = {}
        self._folded: set[int] = set()
        self._rows: list[int] = []
        self._colours: dict[str, Style] = {}
        self._base = self._here = self._quiet = Style.null()

    def on_mount(self) -> None:
        self._restyle()
        self.app.theme_changed_signal.subscribe(self, lambda _: self._restyle())

    def _restyle(self) -> None:
        variables = self.app.theme_variables
        names = _ROLES | dict(KIND_COLOURS) | {f"space.{space}": name for space, name in SPACE_COLOURS.items()}
        # Some variables are `auto` colours, which only a style sheet can resolve: those stay as the widget's own.
        colours = {role: variables.get(name[1:], "") for role, name in names.items()}
        self._colours = {
            role: Style(color=colour, bold=role in KIND_COLOURS) if colour.startswith("#") else Style(dim=True)
            for role, colour in colours.items()
        }
        self._colours["variable"] = Style.null()
        self.refresh()

    # ------------------------------------------------------------ what is shown

    def show(self, jaxpr: MarkedJaxpr) -> None:
        """Show another jaxpr. Folds and the cursor stay if the new one has as many lines, else they are reset."""
        text = jaxpr.text.split("\n")
        if text and not text[-1] and len(text) > len(jaxpr.lines):
            text.pop()
        if len(text) != len(self._text):
            self._folded.clear()
            self.cursor = min(self.cursor, max(0, len(text) - 1))
        self.jaxpr, self._text = jaxpr, text
        spans: dict[int, list[Span]] = defaultdict(list)
        for span in jaxpr.spans:
            spans[span.line].append(span)
        self._spans = spans
        self._lay_out()

    def clear(self) -> None:
        """Show nothing."""
        self.jaxpr, self._text, self._spans, self._rows, self.cursor = None, [], {}, [], 0
        self._folded.clear()
        self._lay_out()

    def _fold_end(self, line: int) -> int | None:
        if self.jaxpr is None or line >= len(self.jaxpr.lines):
            return None
        end = self.jaxpr.lines[line].fold_end
        return end if end is not None and end > line else None

    def _lay_out(self) -> None:
        rows, line = [], 0
        while line < len(self._text):
            rows.append(line)
            end = self._fold_end(line) if line in self._folded else None
            line = line + 1 if end is None else end + 1
        self._rows = rows
        width = max((len(text) if text.isascii() else cell_len(text) for text in self._text), default=0)
        self.virtual_size = Size(width + _GUTTER + 4, len(rows))
        self.refresh()

    def record(self, line: int) -> JaxprLine | None:
        """What is known of a line."""
        return self.jaxpr.lines[line] if self.jaxpr is not None and line < len(self.jaxpr.lines) else None

    @property
    def row(self) -> int:
        """The row of the cursor among the rows that are not folded away."""
        return max(0, bisect_right(self._rows, self.cursor) - 1)

    def go_to(self, line: int, *, tell: bool = False) -> None:
        """Put the cursor on a line, unfolding what hides it; `tell` says so with `Moved`."""
        if not self._text:
            return
        self.cursor = max(0, min(line, len(self._text) - 1))
        hiding = {head for head in self._folded if head < self.cursor <= (self._fold_end(head) or head)}
        if hiding:
            self._folded -= hiding
            self._lay_out()
        self._reveal(center=True)
        if tell:
            self.post_message(self.Moved(self, self.cursor))

    def _reveal(self, *, center: bool = False) -> None:
        self.refresh()
        self.scroll_to_region(Region(0, self.row, 1, 1), animate=False, center=center, x_axis=False)

    def render_lines(self, crop: Region) -> list[Strip]:
        # Styles are looked up once a frame, not once a line.
        self._base = self.rich_style
        self._here = self._base + self.get_component_rich_style("jaxpr--cursor", partial=True)
        self._quiet = self.get_component_rich_style("jaxpr--gutter", partial=True)
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        scroll_x, scroll_y = self.scroll_offset
        row, width = y + scroll_y, self.size.width
        base = self._base
        if row >= len(self._rows) or self.jaxpr is None:
            return Strip.blank(width, base)
        line = self._rows[row]
        here = line == self._rows[self.row]
        base = self._here if here else base
        gutter = base + self._quiet
        record = self.record(line)
        kind = record.kind if record else None
        foldable = self._fold_end(line) is not None
        sign = ("+" if line in self._folded else "-") if foldable else " "
        letter = Segment(LETTERS[kind] if kind else " ", base + self._colours[kind] if kind else base)
        head = [Segment(f"{line + 1:>5} ", gutter), letter, Segment(f" {sign}", gutter)]
        body = Strip(self._segments(line, base)).crop(scroll_x, scroll_x + max(0, width - _GUTTER))
        return Strip.join([Strip(head, _GUTTER), body]).extend_cell_length(width, base)

    def _segments(self, line: int, base: Style) -> list[Segment]:
        text = visible(self._text[line])
        segments, at = [Segment(" ", base)], 0
        for span in self._spans.get(line, ()):
            if span.start < at:
                continue
            segments.append(Segment(text[at : span.start], base))
            segments.append(Segment(text[span.start : span.end], base + self._colours.get(span.role, Style.null())))
            at = span.end
        segments.append(Segment(text[at:], base))
        if line in self._folded:
            hidden = (self._fold_end(line) or line) - line
            segments.append(Segment(f"  … {hidden} lines", base + Style(dim=True)))
        return segments

    # ------------------------------------------------------------ keys and mouse

    def _set_row(self, row: int) -> None:
        if self._rows:
            self.cursor = self._rows[max(0, min(row, len(self._rows) - 1))]
            self._reveal()
            self.post_message(self.Moved(self, self.cursor))

    def action_move(self, step: int) -> None:
        self._set_row(self.row + step)

    def action_page(self, step: int) -> None:
        self._set_row(self.row + step * max(1, self.size.height - 1))

    def action_edge(self, which: int) -> None:
        self._set_row(0 if which == 0 else len(self._rows) - 1)

    def action_hop(self, step: int) -> None:
        """Go to the next or previous line that touches memory."""
        row = self.row + step
        while self.jaxpr and 0 <= row < len(self._rows):
            line = self._rows[row]
            if line < len(self.jaxpr.lines) and self.jaxpr.lines[line].kind:
                self._set_row(row)
                return
            row += step

    def action_fold(self) -> None:
        """Fold the region that begins here, or the innermost one that holds this line."""
        heads = (line for line in range(self.cursor, -1, -1) if (self._fold_end(line) or -1) >= self.cursor)
        head = next(heads, None)
        if head is None:
            return
        self._folded ^= {head}
        self.cursor = head
        self._lay_out()
        self._reveal()
        self.post_message(self.Moved(self, self.cursor))

    def action_source(self) -> None:
        self.post_message(self.SourceWanted(self, self.cursor))

    def on_click(self, event: events.Click) -> None:
        self._set_row(event.y + self.scroll_offset.y)
