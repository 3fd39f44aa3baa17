"""One kernel as the rules see it, and the words they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tutor.findings import finding
from tutor.jaxpr.checks.outer import Fate
from tutor.jaxpr.checks.walk import Event, Walk
from tutor.jaxpr.compat import JaxprEqn, Position, Var, in_other_file, is_ref, space, written_elsewhere
from tutor.jaxpr.flow import Flow
from tutor.jaxpr.index_maps import block_indices
from tutor.jaxpr.kernels import KernelParts, Mapping
from tutor.jaxpr.scalars import Array
from tutor.protocol import Finding, Severity

type Rule = Callable[[KernelView], Iterator[Finding]]


@dataclass(eq=False)
class KernelView:
    """A kernel, walked, with what is known about its surroundings. `tables` are the prefetch operands, in order."""

    eqn: JaxprEqn
    parts: KernelParts
    place: Position | None
    walk: Walk
    tables: tuple[Array | None, ...]
    fates: tuple[Fate, ...]

    @cached_property
    def flow(self) -> Flow:
        """Data flow inside the kernel."""
        return Flow.of(self.parts.jaxpr)

    @cached_property
    def blocks(self) -> dict[Var, Array]:
        """For each input and output that is staged block by block: the block of every grid step, where known."""
        found = {}
        for ref in self.parts.inputs + self.parts.outputs:
            mapping = self.parts.mapping(ref)
            if mapping is None or mapping.space not in ("vmem", "smem") or not mapping.sizes or not self.walk.complete:
                continue
            indices = block_indices(mapping, self.parts.grid, self.tables)
            if indices is not None and len(indices):
                found[ref] = indices
        return found

    def mapping(self, ref: Var) -> Mapping:
        """The blocks of a Ref that has some."""
        mapping = self.parts.mapping(ref)
        assert mapping is not None
        return mapping

    def data_refs(self, *refs: Var) -> list[Var]:
        """Those of the Refs that hold data, not semaphores."""
        return [r for r in refs if is_ref(r) and space(r.aval) != "semaphore"]

    def step(self, row: int) -> str:
        """A grid step in words."""
        ids = tuple(int(i) for i in self.walk.steps[row])
        return f"grid step {tuple_text(ids)}" if ids else "the only grid step"

    def say(
        self,
        code: str,
        message: str,
        *,
        severity: Severity = "error",
        event: Event | None = None,
        ref: Var | None = None,
        hint: str | None = None,
    ) -> Finding:
        """A finding at the event's line, or at the kernel's call. A line of another file is said in words."""
        place = (event.place if event else None) or self.place
        if event is not None and event.place is None:
            message += in_other_file(written_elsewhere(event.eqn, self.walk.file_name))
        line, column = (place.line, place.column) if place else (None, None)
        name = self.walk.name(ref) if ref is not None else None
        return finding(code, message, severity=severity, line=line, column=column, ref=name, hint=hint)


def tuple_text(values: Sequence[int] | Array) -> str:
    """`(1, 2)` or `(1,)`, without NumPy's type names."""
    return str(tuple(int(v) for v in values))


def changes(indices: Array) -> Array:
    """At which steps a block differs from that of the step before: booleans, the first is True."""
    out = np.ones(len(indices), bool)
    out[1:] = (indices[1:] != indices[:-1]).any(axis=1)
    return out
