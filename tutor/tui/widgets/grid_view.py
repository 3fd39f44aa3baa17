"""The grid walk: a slider over the steps, and for each operand its array in blocks with the current one lit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Static

from tutor.protocol import CaseError, CaseFacts, KernelFacts
from tutor.tui.model import walkable
from tutor.tui.text import dims, visible

if TYPE_CHECKING:  # NumPy is imported when a grid is first looked at, not before the first frame
    from tutor.tui.grid_model import Bad, GridWalk, Mark, Operand

_STYLES: dict[Mark, str] = {
    "now": "bold $text-accent",
    "before": "$quiet",
    "later": "$quiet",
    "never": "bold $text-error",
    "again": "$text-warning",
}


class Slider(Widget):
    """Where the step is on the way from the first to the last; a click goes there."""

    step: reactive[int] = reactive(0)
    steps: reactive[int] = reactive(1)

    class Moved(Message):
        """The learner wants another step."""

        def __init__(self, step: int) -> None:
            self.step = step
            super().__init__()

    def render(self) -> Content:
        width = max(3, self.size.width)
        at = self.step * (width - 1) // max(1, self.steps - 1)
        return Content.assemble(
            ("━" * at, "$text-accent"), ("●", "bold $text-accent"), ("─" * (width - 1 - at), "$quiet")
        )

    def _go(self, x: int) -> None:
        width = max(3, self.size.width)
        step = round(max(0, min(x, width - 1)) * (self.steps - 1) / (width - 1))
        self.post_message(self.Moved(step))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self.capture_mouse()
        self._go(event.x)

    def on_mouse_up(self) -> None:
        self.release_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if event.button and self.app.mouse_captured is self:
            self._go(event.x)


class GridView(Vertical, can_focus=True):
    """One kernel of one case at one step. Built only while it is looked at: a long grid costs time and memory."""

    BINDINGS = [
        Binding("left", "go(-1)", "Step back", key_display="←→", show=False),
        Binding("right", "go(1)", "Step", key_display="←→", tooltip="One step of the grid; ↑↓ go a whole row of it"),
        Binding("up", "row(-1)", "Row back", show=False),
        Binding("down", "row(1)", "Row", show=False),
        Binding("home", "edge(0)", "First step", show=False),
        Binding("end", "edge(-1)", "Last step", show=False),
        Binding("left_square_bracket", "change(-1)", "Previous move", show=False),
        Binding(
            "right_square_bracket", "change(1)", "Next move", key_display="]", tooltip="To the next block that moves"
        ),
        Binding("b", "bad", "Bad block", tooltip="To the step that wrote the next wrong block"),
        Binding("k", "kernel", "Kernel", tooltip="The next kernel"),
        Binding("c", "case", "Case", tooltip="The next case"),
        Binding("pageup", "scroll(-1)", "Scroll up", show=False),
        Binding("pagedown", "scroll(1)", "Scroll down", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._kernels: list[tuple[CaseFacts, KernelFacts]] = []
        self._errors: Mapping[str, CaseError] = {}
        self._at = 0
        self._step = 0
        self._walk: GridWalk | None = None
        self._bad: list[Bad] = []

    def compose(self) -> ComposeResult:
        yield Static(id="grid-title", markup=False)
        yield Slider()
        with VerticalScroll(id="grid-body", can_focus=False):
            yield Static(id="grid-cards", markup=False)

    # ------------------------------------------------------------ what is shown

    def show(self, facts: Sequence[CaseFacts], errors: Mapping[str, CaseError]) -> None:
        """Show the walks of these cases: of a wrong case if there is one, else first of that with the most steps. The
        step stays where it can."""
        first = not self._kernels
        wrong = bool(errors) and errors != self._errors
        self._kernels, self._errors, self._walk = walkable(facts), errors, None
        self._at = min(self._at, max(0, len(self._kernels) - 1))
        if first and self._kernels:
            steps = [prod(n or 1 for n in kernel.kernel.grid) for _, kernel in self._kernels]
            self._at = steps.index(max(steps))
        if wrong:
            self._at = next((i for i, (case, _) in enumerate(self._kernels) if case.case in errors), self._at)
        self._draw()

    def on_show(self) -> None:
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        # Nothing is worked out behind another tab.
        if not self._kernels or not self.is_on_screen or not self.size.width:
            return
        from tutor.tui.grid_model import bad_cells, grid_walk

        case, kernel = self._kernels[self._at]
        if self._walk is None:
            self._walk = grid_walk(case, kernel)
            error = self._error
            self._bad = bad_cells(error.by_block, self._output) if error and error.by_block else []
            self.refresh_bindings()
        walk = self._walk
        self._step = max(0, min(self._step, walk.steps - 1))
        slider = self.query_one(Slider)
        slider.steps, slider.step = max(1, walk.steps), self._step
        self.query_one("#grid-title", Static).update(self._title(walk))
        self.query_one("#grid-cards", Static).update(self._cards(walk))

    @property
    def _error(self) -> CaseError | None:
        return self._errors.get(self._kernels[self._at][0].case)

    @property
    def _output(self) -> Operand | None:
        """The operand that is the wrong output of the entry."""
        error, walk = self._error, self._walk
        if error is None or error.by_block is None or walk is None:
            return None
        return next((o for o in walk.operands if o.output == error.by_block.output), None)

    def _title(self, walk: GridWalk) -> Content:
        where = f"step {self._step} of {walk.steps:,}  {walk.index(self._step)}" if walk.steps else "no steps"
        about = f"   grid {dims(list(walk.grid))}"
        if len({case.case for case, _ in self._kernels}) > 1:
            about += f"   case {visible(walk.case)}"
        if sum(case is self._case for case, _ in self._kernels) > 1:
            about += f"   kernel {visible(walk.kernel)}"
        return Content.assemble((where, "bold"), (about, "$quiet"))

    def _cards(self, walk: GridWalk) -> Content:
        rows = max(2, min(8, self.size.height - 6))
        cards = [self._card(operand, rows) for operand in walk.operands] if walk.steps else []
        if heat := self._heat(walk):
            cards.insert(0, heat)
        lines = _flow(cards, self.size.width - 2)
        for operand in walk.operands:
            for words in operand.complaints:
                lines.append(Content.styled(f"{visible(operand.name)}: {words}", "$text-warning"))
        if walk.missing:
            lines.append(Content.styled(visible(walk.missing), "$text-warning"))
        if walk.operands:
            lines += [Content(""), _legend()] if self.size.height > 12 else [_legend()]
        return Content("\n").join(lines)

    def _card(self, operand: Operand, rows: int) -> list[Content]:
        walk = operand.walk
        picture = operand.picture(self._step, rows, 16)
        moving = walk.movement(self._step) in ("fetched", "opened") or walk.written_back(self._step)
        tone = ("$store" if walk.output else "$load") if moving else "$quiet"
        lines = [
            Content.styled(visible(operand.name), "bold"),
            Content.styled(f"{dims(list(walk.array_shape))} by {dims(list(walk.block_shape))}", "$quiet"),
            Content.styled(operand.says(self._step), tone),
        ]
        lines += [Content.assemble(*((cell.text, _STYLES[cell.mark]) for cell in row)) for row in picture.rows]
        notes = [picture.slice] if picture.slice else []
        notes += [f"a cell is {dims(list(picture.scale))} blocks"] if picture.scale != (1, 1) else []
        notes += ["its index counts elements"] if any(walk.element) else []
        return [*lines, Content.styled(", ".join(notes), "$quiet")] if notes else lines

    def _heat(self, walk: GridWalk) -> list[Content]:
        """The error of the wrong output, the cell lit that the current block lies in."""
        error, case = self._error, self._kernels[self._at][0]
        if error is None or (map_ := error.by_block) is None:
            return []
        from tutor.tui.grid_model import cell_of, heat_rows, in_words

        name = case.outputs[map_.output].name if map_.output < len(case.outputs) else f"output {map_.output}"
        here = cell_of(map_, self._output, self._step) if self._output is not None else None
        said = in_words(visible(name), visible(case.case), error, self._bad, walk)
        lines = [Content.styled(f"error of {visible(name)}", "bold $text-error")]
        for r, row in enumerate(heat_rows(map_)):
            cells = [row[i : i + 2] for i in range(0, len(row), 2)]
            lines.append(
                Content.assemble(
                    *(
                        (cell, _heat_style(cell) + (" reverse" if here == (r, c) else ""))
                        for c, cell in enumerate(cells)
                    )
                )
            )
        width = max(24, 2 * len(map_.bad[0]))
        return lines + [line.stylize("$text-error") for line in Content(said).wrap(width)]

    # ------------------------------------------------------------ keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        match action:
            case "bad":
                return any(cell.step is not None for cell in self._bad)
            case "kernel":
                return sum(case is self._case for case, _ in self._kernels) > 1
            case "case":
                return len({case.case for case, _ in self._kernels}) > 1
        return True

    @property
    def _case(self) -> CaseFacts | None:
        return self._kernels[self._at][0] if self._kernels else None

    def go_to(self, step: int) -> None:
        """Show another step."""
        self._step = step
        self._draw()

    def on_slider_moved(self, event: Slider.Moved) -> None:
        event.stop()
        self.go_to(event.step)

    def action_go(self, by: int) -> None:
        self.go_to(self._step + by)

    def action_row(self, by: int) -> None:
        self.go_to(self._step + by * (self._walk.grid[-1] if self._walk else 1))

    def action_edge(self, which: int) -> None:
        self.go_to(0 if which == 0 or self._walk is None else self._walk.steps - 1)

    def action_change(self, by: int) -> None:
        if self._walk is not None and self._walk.steps:
            self.go_to(self._walk.next_change(self._step, by))

    def action_bad(self) -> None:
        """Go to the step that last wrote a wrong block: the next one after this step, or the first."""
        steps = sorted(cell.step for cell in self._bad if cell.step is not None)
        if steps:
            self.go_to(next((step for step in steps if step > self._step), steps[0]))

    def action_kernel(self) -> None:
        self._turn([i for i, (case, _) in enumerate(self._kernels) if case is self._case])

    def action_case(self) -> None:
        firsts: dict[str, int] = {}
        for i, (case, _) in enumerate(self._kernels):
            firsts.setdefault(case.case, i)
        self._turn(list(firsts.values()))

    def _turn(self, among: Sequence[int]) -> None:
        if among:
            self._at, self._walk = next((i for i in among if i > self._at), among[0]), None
            self._draw()

    def action_scroll(self, by: int) -> None:
        body = self.query_one("#grid-body")
        (body.scroll_page_down if by > 0 else body.scroll_page_up)(animate=False)


def _flow(cards: Sequence[Sequence[Content]], width: int) -> list[Content]:
    """Cards beside each other as long as they fit, an empty line between rows of cards."""
    lines: list[Content] = []
    row: list[Sequence[Content]] = []
    used = 0
    for card in cards:
        wide = max(line.cell_length for line in card) + 3
        if row and used + wide - 3 > width:
            lines += [*_beside(row), Content("")]
            row, used = [], 0
        row, used = [*row, card], used + wide
    return lines + _beside(row) if row else lines


def _beside(cards: Sequence[Sequence[Content]]) -> list[Content]:
    widths = [max(line.cell_length for line in card) + 3 for card in cards]
    lines = []
    for n in range(max(map(len, cards))):
        parts = [card[n] if n < len(card) else Content("") for card in cards]
        padded = [part + Content(" " * (wide - part.cell_length)) for part, wide in zip(parts, widths, strict=True)]
        lines.append(Content("").join(padded))
    return lines


def _heat_style(cell: str) -> str:
    return "$quiet" if cell == "··" else "bold $text-warning" if cell == "NN" else "$text-error"


def _legend() -> Content:
    from tutor.tui.grid_model import SIGNS, WORDS

    parts = [Content.assemble((SIGNS[mark], _STYLES[mark]), (f" {WORDS[mark]}", "$quiet")) for mark in SIGNS]
    return Content("   ").join(parts)
