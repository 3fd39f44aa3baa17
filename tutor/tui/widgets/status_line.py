"""The first line: where we are, how far, and what is happening now."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from tutor.tui.text import visible


class StatusLine(Widget):
    """Left: the place. Right: what is going on. The middle goes first when there is little room."""

    place: reactive[str] = reactive("")
    progress: reactive[str] = reactive("")
    machine: reactive[str] = reactive("")
    unsaved: reactive[bool] = reactive(False)
    trouble: reactive[str] = reactive("")
    doing: reactive[str] = reactive("")
    tone: reactive[str] = reactive("")

    def render(self) -> Content:
        width = self.size.width
        right = Content.assemble(
            (f"!! {self.trouble}  ", "$text-warning") if self.trouble else "",
            ("modified  ", "$text-warning") if self.unsaved else "",
            (self.doing, self.tone),
        )
        name = visible(self.place)
        lefts = [
            Content.assemble(("kerneltutor  ", "$quiet"), (name, "bold"), (f"   {self.progress}", "$quiet")),
            Content.assemble((name, "bold"), (f"   {self.progress}", "$quiet")),
            Content.assemble((name, "bold")),
            Content.assemble((name.rpartition(" / ")[2], "bold")),
        ]
        fits = (left for left in lefts if left.cell_length + right.cell_length + 2 <= width)
        left = next(fits, lefts[-1])
        middle = Content.assemble((f"{self.machine}   ", "$quiet"))
        room = width - left.cell_length - right.cell_length
        if room - middle.cell_length >= 4:
            right, room = middle + right, room - middle.cell_length
        return left + Content(" " * max(1, room)) + right
