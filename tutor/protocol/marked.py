"""The marked jaxpr: printed lines with spans, and what each of them does."""

from __future__ import annotations

from tutor.protocol.base import AccessKind, Record, Space


class Span(Record, frozen=True):
    """A coloured piece of one line of jaxpr text: columns `start` to `end` of text line `line` (0-based).

    `role` says what it is: an access kind, or `primitive | variable | type | literal | param | comment`, or
    `space.vmem` and so on for a piece that names a memory space."""

    line: int
    start: int
    end: int
    role: str


class JaxprLine(Record, frozen=True):
    """What one line of jaxpr text stands for. `fold_end` is the last line of the region that folds under this one."""

    kind: AccessKind | None = None
    ref: str | None = None
    space: Space | None = None
    source_line: int | None = None
    source_column: int | None = None
    depth: int = 0
    kernel: int | None = None
    primitive: str | None = None
    fold_end: int | None = None


class MarkedJaxpr(Record, frozen=True):
    """A jaxpr as text, with one `JaxprLine` for each line of `text` and the spans to colour.

    `explanations` says one line about each primitive that occurs: what it does, on which unit, what it costs."""

    text: str
    lines: list[JaxprLine]
    spans: list[Span]
    explanations: dict[str, str] = {}
