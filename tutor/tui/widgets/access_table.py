"""The access table: for each Ref, where it lives and how often one grid step goes to memory for it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style
from rich.text import Text
from textual.widgets import DataTable

from tutor.protocol import CaseFacts, Kernel, Staged
from tutor.tui import text
from tutor.tui.access_model import ref_rows
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

    def show(self, kernels: Sequence[Kernel], facts: CaseFacts | None = None) -> None:
        """Show the Refs of these kernels; `facts` of the same case know what the pipeline moves."""
        self.clear(columns=True)
        for name in ("ref", "space", "block", "dtype"):
            self.add_column(name)
        for letter in _COUNTS:
            self.add_column(Text(letter, style=self._colour(KIND_COLOURS[_COUNTS[letter]])))  # type: ignore[index]
        for name in ("a step", "moved", "least", "work", "array"):
            self.add_column(name)
        known = facts.kernels if facts is not None and len(facts.kernels) == len(kernels) else [None] * len(kernels)
        for kernel, more in zip(kernels, known, strict=True):
            for row in ref_rows(kernel, more):
                counts = [self._count(letter, row.counts[letter]) for letter in _COUNTS]
                space = Text(row.space, style=self._colour(SPACE_COLOURS.get(row.space, "")))
                self.add_row(
                    Text(text.visible(row.ref), style="bold"),
                    space,
                    Text(text.dims(row.block)),
                    Text(text.visible(text.short_dtype(row.dtype))),
                    *counts,
                    Text(text.size(row.bytes_per_step), justify="right"),
                    *self._staged(row.staged),
                    Text(row.work),
                    Text(text.dims(row.shape)),
                )
            self.add_row(*self._sums(kernel, len(kernels) > 1))

    def _staged(self, staged: Staged | None) -> list[Text]:
        """What the pipeline moves, and how many times more that is than the least possible."""
        if staged is None:
            return [Text("-", style="dim"), Text()]
        least = Text(text.size(staged.least_bytes), style="dim")
        if staged.bytes <= staged.least_bytes:
            return [Text(text.size(staged.bytes)), least]
        times = f" ×{staged.bytes / max(1, staged.least_bytes):.3g}"
        return [Text.assemble(text.size(staged.bytes), (times, self._colour("$store"))), least]

    def _sums(self, kernel: Kernel, named: bool) -> list[Text]:
        name = text.visible(kernel.name) if named else "one step"
        numbers = [kernel.loads, kernel.stores, kernel.accumulates, kernel.copies]
        counts = [self._count(letter, number) for letter, number in zip(_COUNTS, numbers, strict=True)]
        return [
            Text(name, style="dim"),
            Text(),
            Text(f"grid {text.dims(kernel.grid)}" if kernel.grid else "no grid", style="dim"),
            Text(),
            *counts,
            Text("all:", style="dim", justify="right"),
            Text(f"{text.size(kernel.bytes_in)} in", style="dim"),
            Text(f"{text.size(kernel.bytes_out)} out", style="dim"),
            Text(),
            Text(),
        ]

    def _count(self, letter: str, count: int | None) -> Text:
        style = self._colour(KIND_COLOURS[_COUNTS[letter]]) if count != 0 else Style(dim=True)  # type: ignore[index]
        return Text("×?" if count is None else str(count) if count else "·", style=style, justify="right")

    def _colour(self, variable: str) -> Style:
        colour = self.app.theme_variables.get(variable.removeprefix("$"), "")
        return Style(color=colour) if colour.startswith("#") else Style()
