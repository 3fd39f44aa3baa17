"""The code editor: a text area with letters in the gutter for what each line does to memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widgets import TextArea
from textual.widgets.text_area import TextAreaTheme

from tutor.protocol import Severity
from tutor.tui.model import KINDS, Shift
from tutor.tui.text import visible
from tutor.tui.theme import KIND_COLOURS

MARK_WIDTH = 4
_FLAGS: Mapping[Severity, str] = {"error": "!", "warning": "?", "note": "i"}
_SYNTAX = {
    "keyword": "$syntax-keyword",
    "keyword.function": "$syntax-keyword",
    "keyword.return": "$syntax-keyword",
    "keyword.operator": "$syntax-keyword",
    "include": "$syntax-keyword",
    "conditional": "$syntax-keyword",
    "repeat": "$syntax-keyword",
    "exception": "$syntax-keyword",
    "string": "$syntax-string",
    "string.documentation": "$syntax-string",
    "number": "$syntax-number",
    "float": "$syntax-number",
    "boolean": "$syntax-number",
    "constant.builtin": "$syntax-number",
    "function": "$syntax-call",
    "function.call": "$syntax-call",
    "method": "$syntax-call",
    "method.call": "$syntax-call",
    "comment": "$syntax-comment",
}


class CodeEditor(TextArea):
    """Python with line numbers, access letters, and indentation that follows."""

    BINDINGS = [
        Binding("ctrl+home", "edge(False)", "First line", show=False),
        Binding("ctrl+end", "edge(True)", "Last line", show=False),
        Binding("shift+tab", "dedent", "Dedent", show=False),
        Binding("ctrl+slash,ctrl+underscore", "toggle_comment", "Comment", show=False),
    ]

    class Left(Message):
        """Escape was pressed: the learner wants out of the text."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(
            language="python",
            theme="css",
            soft_wrap=False,
            tab_behavior="indent",
            show_line_numbers=True,
            highlight_cursor_line=True,
            id=id,
        )
        self.cursor_blink = False
        self._marks: Mapping[int, str] = {}
        self._traced: tuple[str, ...] = ()
        self._shown: dict[int, str] = {}
        self._flags: Mapping[int, Severity] = {}
        self._checked: tuple[str, ...] = ()
        self._flagged: dict[int, Severity] = {}
        self._tones: dict[Severity | None, Style] = {}
        self._colours: dict[str, Style] = {}
        self._gutters: dict[bool, Style] = {}

    def on_mount(self) -> None:
        self._restyle()
        self.app.theme_changed_signal.subscribe(self, lambda _: self._restyle())

    def _restyle(self) -> None:
        colours = self.app.theme_variables
        self.register_theme(
            TextAreaTheme("tutor", syntax_styles={name: Style(color=colours[var[1:]]) for name, var in _SYNTAX.items()})
        )
        self.theme = "tutor"
        self._set_theme("tutor")
        self._colours = {
            letter: Style(color=colours[KIND_COLOURS[kind][1:]], bold=True) for letter, kind in KINDS.items()
        }
        names: dict[Severity, str] = {"error": "error", "warning": "warning", "note": "accent"}
        self._tones = {severity: Style(color=colours[name], bold=True) for severity, name in names.items()}
        self._line_cache.clear()
        self.refresh()

    # ------------------------------------------------------------ the gutter

    def show_marks(self, marks: Mapping[int, str], traced: tuple[str, ...]) -> None:
        """Show these letters (by line of the `traced` text); lines that were edited since lose theirs."""
        self._marks, self._traced = marks, traced
        self.settle()

    def show_flags(self, flags: Mapping[int, Severity], checked: tuple[str, ...]) -> None:
        """Show a sign on these lines (of the `checked` text): something was found there."""
        self._flags, self._checked = flags, checked
        self.settle()

    def settle(self) -> None:
        """Move the letters and signs to where their lines are now."""
        self._shown = _moved(self._marks, self._traced, self.document.lines)
        self._flagged = _moved(self._flags, self._checked, self.document.lines)
        self.refresh()

    @property
    def gutter_width(self) -> int:
        """Line number, letters, and a margin."""
        return super().gutter_width + MARK_WIDTH + 1

    def get_line(self, line_index: int) -> Text:
        return Text(visible(self.document.get_line(line_index), keep="\t"), end="", no_wrap=True)

    def render_lines(self, crop: Region) -> list[Strip]:
        # Styles are looked up once a frame, not once a line.
        self._gutters = {
            current: self.rich_style + self.get_component_rich_style(name, partial=True)
            for current, name in ((False, "text-area--gutter"), (True, "text-area--cursor-gutter"))
        }
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        line = y + self.scroll_offset.y + 1
        if line > self.document.line_count:
            return strip
        width = self.gutter_width
        base = self._gutters[line == self.cursor_location[0] + 1]
        number = f"{line:>{width - MARK_WIDTH - 3}}"
        mark = self._shown.get(line, "")
        flag = self._flagged.get(line)
        segments = [Segment(number, base), Segment(_FLAGS[flag] if flag else " ", base + self._tones.get(flag, base))]
        segments += [Segment(letter, base + self._colours.get(letter, Style(dim=True))) for letter in mark]
        segments.append(Segment(" " * (width - len(number) - 1 - len(mark)), base))
        return Strip.join([Strip(segments, width), strip.crop(width)])

    # ------------------------------------------------------------ keys

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            event.prevent_default()
            self.post_message(self.Left())
        elif event.key == "enter" and not self.read_only:
            event.stop()
            event.prevent_default()
            self._replace_via_keyboard("\n" + self._next_indent(), *self.selection)
        elif event.key == "backspace" and not self.read_only and self._in_indent():
            event.stop()
            event.prevent_default()
            self.action_dedent()

    def _next_indent(self) -> str:
        row, column = min(self.selection)
        before = self.document.get_line(row)[:column]
        indent = before[: len(before) - len(before.lstrip())]
        return indent + " " * self.indent_width if before.rstrip().endswith((":", "(", "[", "{")) else indent

    def _in_indent(self) -> bool:
        row, column = self.cursor_location
        before = self.document.get_line(row)[:column]
        return self.selection.is_empty and bool(before) and not before.strip(" ") and column % self.indent_width == 0

    def _rows(self) -> range:
        (top, _), (bottom, column) = sorted(self.selection)
        return range(top, bottom if column == 0 and bottom > top else bottom + 1)

    def action_dedent(self) -> None:
        """Take one level of indentation from the selected lines."""
        if self.read_only:
            return
        for row in self._rows():
            line = self.document.get_line(row)
            spare = min(len(line) - len(line.lstrip(" ")), self.indent_width)
            if spare:
                self.replace("", (row, 0), (row, spare), maintain_selection_offset=True)

    def action_edge(self, last: bool) -> None:
        """Go to the beginning or the end of the text."""
        self.move_cursor(self.document.end if last else (0, 0))

    def action_toggle_comment(self) -> None:
        """Comment the selected lines out, or back in if all of them are comments."""
        if self.read_only:
            return
        rows = [row for row in self._rows() if self.document.get_line(row).strip()]
        stripped = [self.document.get_line(row).lstrip() for row in rows]
        undo = all(text.startswith("#") for text in stripped)
        for row, text in zip(rows, stripped, strict=True):
            column = len(self.document.get_line(row)) - len(text)
            end = column + (2 if text.startswith("# ") else 1) if undo else column
            self.replace("" if undo else "# ", (row, column), (row, end), maintain_selection_offset=True)

    def go_to(self, line: int, column: int = 0) -> None:
        """Put the cursor on a line (1-based), in the middle of the view."""
        row = max(0, min(line, self.document.line_count) - 1)
        self.move_cursor((row, column), center=True)


def _moved[T](marks: Mapping[int, T], old: Sequence[str], new: Sequence[str]) -> dict[int, T]:
    """`marks` by line of the new text; those of lines that were edited are left out."""
    shift = Shift.between(old, new)
    moved = {shift.now(line): mark for line, mark in marks.items()}
    return {line: mark for line, mark in moved.items() if line is not None}
