"""The access table of a kernel: every load, store, accumulation, copy and semaphore operation of its body."""

from __future__ import annotations

from tutor.jaxpr.nest import Level, Node, view_bytes, view_shape
from tutor.protocol import Access


def accesses(level: Level) -> list[Access]:
    """The accesses of a kernel body in program order, those of nested bodies included.

    `shape` is the slice that is touched (a size that data decides counts as the whole extent, and then
    `bytes_per_step` is None). A copy is an access of its source; `to` names the destination."""
    return [_access(node) for node in level.walk() if node.touch]


def _access(node: Node) -> Access:
    touch = node.touch
    assert touch is not None
    shape, _ = view_shape(touch.view)
    size = view_bytes(touch.view)
    return Access(
        ref=touch.ref.name,
        space=touch.ref.space,
        kind=touch.kind,
        line=node.place.line if node.place else None,
        column=node.place.column if node.place else None,
        shape=list(shape),
        dtype=str(touch.view.dtype),
        per_step=node.times,
        branch=node.branch,
        bytes_per_step=None if size is None or node.times is None else size * node.times,
        to=touch.to.name if touch.to else None,
    )
