"""The ladder: each question, and under it the stages that answer it, filling in as results arrive."""

from __future__ import annotations

import textwrap

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from tutor.tui import text
from tutor.tui.model import Run, Rung, answer, in_words, ladder
from tutor.tui.theme import SIGNS

_SHORT = {
    "Is the algebra right?": "algebra",
    "Is the layout legal?": "layout",
    "Is it fast?": "speed",
    "Are the answers right?": "answers",
}


class LadderView(Widget):
    """Full height: a line a stage. Two lines: all stages in a row. One line: one word a question."""

    run: reactive[Run] = reactive(Run, layout=True)
    lines: reactive[int] = reactive(0, layout=True)
    """0 for the full ladder, else how many lines there are."""

    def render(self) -> Content:
        asked = ladder(self.run)
        if self.lines == 1:
            return self._words(asked)
        if self.lines == 2:
            return self._rows(asked)
        return self._full(asked)

    def _full(self, asked: list[tuple[str, list[Rung]]]) -> Content:
        width = max(20, self.size.width)
        parts: list[Content] = []
        for question, rungs in asked:
            words = in_words(question, rungs)
            gap = " " * max(1, width - len(question) - len(words))
            tone = SIGNS[answer(question, rungs)][1]
            parts.append(Content.assemble((question, "bold $foreground"), gap, (words, tone)))
            parts += [line for rung in rungs for line in _lines(rung, width)]
        return Content("\n").join(parts)

    def _rows(self, asked: list[tuple[str, list[Rung]]]) -> Content:
        groups = [
            (Content.styled(f"{_SHORT.get(question, question)}  ", "$quiet"), [_short(rung) for rung in rungs])
            for question, rungs in asked
        ]
        rows = [title + Content("  ").join(items) for title, items in groups]
        if len(rows) == 3:
            rows = [rows[0], rows[1] + Content("   ") + rows[2]]
        return Content("\n").join(rows)

    def _words(self, asked: list[tuple[str, list[Rung]]]) -> Content:
        pairs = [(_SHORT.get(question, question), SIGNS[answer(question, rungs)]) for question, rungs in asked]
        return Content("  ").join(
            Content.assemble((sign, style), (f" {word}", "$quiet")) for word, (sign, style) in pairs
        )


def _lines(rung: Rung, width: int) -> list[Content]:
    """One line, and under it the reason why a stage says nothing, if it does not fit into that line."""
    sign, style = SIGNS[rung.phase]
    timed = rung.phase in ("passed", "failed", "error")
    right = text.seconds(rung.seconds) if timed else "running" if rung.phase == "running" else ""
    if rung.phase in ("unavailable", "skipped") and rung.remark != rung.phase:
        right = rung.phase
    name = Content.assemble((f" {sign} ", style), (f"{rung.name:<9} ", "" if timed else "$quiet"))
    room = width - name.cell_length - len(right) - 1
    remark = text.visible(rung.remark)
    below: list[str] = []
    if len(remark) > room:
        if rung.phase in ("unavailable", "error"):
            below, remark = textwrap.wrap(remark, max(10, width - 4)), ""
        else:
            remark = remark[: max(0, room - 1)] + "…" if room > 4 else ""
    line = name + Content.assemble((f"{remark:<{max(0, room)}} ", "$quiet"), (right, "$quiet"))
    return [line, *(Content.styled(f"    {words}", "$quiet") for words in below)]


def _short(rung: Rung) -> Content:
    sign, style = SIGNS[rung.phase]
    return Content.assemble((sign.strip(), style), f" {rung.name}")
