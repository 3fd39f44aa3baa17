"""One line under the editor and the jaxpr saying what the line under the cursor does, and where its other half is."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from tutor.protocol import JaxprLine
from tutor.tui.model import LETTERS, Trace, caused_by, per_line
from tutor.tui.text import visible
from tutor.tui.theme import KIND_COLOURS, SPACE_COLOURS


class LineBar(Widget):
    """Words for one line; empty when there is nothing to say."""

    words: reactive[Content] = reactive(Content(""))

    def render(self) -> Content:
        return self.words.truncate(max(1, self.size.width), ellipsis=True)


def about_source(trace: Trace | None, traced_line: int | None) -> Content:
    """What a source line does to memory, if the last good trace knows it."""
    if trace is None:
        return Content.styled("No trace yet: check with F5, then this line says what it does to memory.", "$quiet")
    if traced_line is None:
        return Content.styled("Edited since the last good trace.", "$quiet")
    words = list(per_line(trace.kernels, traced_line))
    if not words:
        there = caused_by(trace.jaxpr, traced_line)
        return Content.styled("No access to memory here." if there is not None else "", "$quiet")
    return Content.assemble(visible(", ".join(words)), ("   F8 shows it in the jaxpr", "$quiet"))


def about_jaxpr(record: JaxprLine, here: int | None, source: str) -> Content:
    """What a line of the jaxpr is, and the source line that caused it: where it is now, and its text."""
    parts: list[Content] = []
    if record.kind is not None:
        kind = record.kind.replace("_", " ")
        parts.append(Content.styled(f"{LETTERS[record.kind]} {kind}", f"bold {KIND_COLOURS[record.kind]}"))
        if record.ref:
            parts.append(Content(visible(record.ref)))
    elif record.primitive:
        parts.append(Content.styled(visible(record.primitive), "bold"))
    if record.space is not None:
        parts.append(Content.styled(record.space.upper(), SPACE_COLOURS.get(record.space, "")))
    if record.source_line is not None:
        line = record.source_line if here is None else here
        parts.append(Content.assemble((f"line {line}  ", "$text-accent"), (visible(source.strip()), "$quiet")))
    return Content("  ").join(parts)
