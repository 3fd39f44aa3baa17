"""The access table: for each Ref, where it lives and how often one grid step goes to memory for it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style
from rich.text import Text
from textual.widgets import DataTable

from tutor.protocol import Kernel
from tutor.tui import text
from tutor.tui.model import ref_rows
from tutor.tui.theme import KIND_COLOURS, SPACE_COLOURS

_COUNTS = {"L": "load", "S": "store", "A": "accumulate", "C": "copy_start"}


class AccessTable(DataTable[Text]):
    """One row a Ref, one last row a kernel with its sums."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, cursor_type="row", cursor_foreground_priority="renderable", show_cursor=False)

    def on_focus(self) -> None:
        self.show_cursor = True

    def on_blur(self) -> None:
        self.show_cursor = False

    def show(self, kernels: Sequence[Kernel]) -> None:
        """Show the Refs of these kernels."""
        self.clear(columns=True)
        for name in ("ref", "space", "shape", "dtype", "block"):
            self.add_column(name)
        for letter in _COUNTS:
            self.add_column(Text(letter, style=self._colour(KIND_COLOURS[_COUNTS[letter]])))  # type: ignore[index]
        self.add_column("bytes")
        for kernel in kernels:
            for row in ref_rows(kernel):
                counts = [self._count(letter, row.counts[letter]) for letter in _COUNTS]
                space = Text(row.space, style=self._colour(SPACE_COLOURS.get(row.space, "")))
                words = [text.dims(row.shape), text.short_dtype(row.dtype), text.dims(row.block)]
                moved = Text(text.size(row.bytes_per_step), justify="right")
                self.add_row(
                    Text(text.visible(row.ref), style="bold"),
                    space,
                    *map(Text, map(text.visible, words)),
                    *counts,
                    moved,
                )
            self.add_row(*self._sums(kernel, len(kernels) > 1))

    def _sums(self, kernel: Kernel, named: bool) -> list[Text]:
        name = text.visible(kernel.name) if named else "one step"
        numbers = [kernel.loads, kernel.stores, kernel.accumulates, kernel.copies]
        counts = [self._count(letter, number) for letter, number in zip(_COUNTS, numbers, strict=True)]
        moved = f"in {text.size(kernel.bytes_in)}", f"out {text.size(kernel.bytes_out)}"
        grid = f"grid {text.dims(kernel.grid)}"
        return [
            Text(name, style="dim"),
            Text(),
            Text(grid, style="dim"),
            Text(moved[0], style="dim"),
            Text(moved[1], style="dim"),
            *counts,
            Text(),
        ]

    def _count(self, letter: str, count: int | None) -> Text:
        style = self._colour(KIND_COLOURS[_COUNTS[letter]]) if count != 0 else Style(dim=True)  # type: ignore[index]
        return Text("×?" if count is None else str(count) if count else "·", style=style, justify="right")

    def _colour(self, variable: str) -> Style:
        colour = self.app.theme_variables.get(variable.removeprefix("$"), "")
        return Style(color=colour) if colour.startswith("#") else Style()
