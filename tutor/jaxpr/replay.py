"""How often each copy, or any other equation, really runs over a whole grid.

The scalar program of a kernel (its branches, loop counters and indices) usually follows from the grid step and from
integers in SMEM. It is run here with NumPy for all steps at once, which decides every `pl.when` round an equation.
Where data decides instead, or the loops are too long, the answer is None and the static sum has to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from tutor.jaxpr.compat import Var, space
from tutor.jaxpr.equations import Body
from tutor.jaxpr.index_maps import grid_steps
from tutor.jaxpr.kernels import KernelParts
from tutor.jaxpr.nest import Level, Node
from tutor.jaxpr.scalars import Array, Scope

BUDGET = 20_000
"""Equations that are run before giving up."""

MOST_CELLS = 20_000_000
"""Equations times grid steps before giving up."""


def copies_started(
    level: Level, parts: KernelParts, grid: Sequence[int | None], values: Sequence[Array | None]
) -> list[tuple[Node, int]] | None:
    """Each `copy_start` of the kernel with how often it runs over the whole grid, or None if that cannot be known."""
    return times_run(level, parts, grid, values, _starts_copy)


def times_run(
    level: Level,
    parts: KernelParts,
    grid: Sequence[int | None],
    values: Sequence[Array | None],
    wanted: Callable[[Node], bool],
) -> list[tuple[Node, int]] | None:
    """Each node that is `wanted` with how often it runs over the whole grid, or None if that cannot be known.

    `values` are the contents of the operands (scalar prefetch first, then inputs), None where unknown."""
    steps = grid_steps(grid, max_steps=MOST_CELLS // 100)
    if steps is None or (parts.primitive != "pallas_call" and prod(g or 1 for g in grid) > 1):
        return None
    replay = _Replay(Scope(steps, grid, _readable(parts, values), _axes(parts)), wanted)
    try:
        replay.level(level, np.ones(len(steps), bool))
    except _GiveUp:
        return None
    return list(replay.found.values())


def _starts_copy(node: Node) -> bool:
    return node.touch is not None and node.touch.kind == "copy_start"


def _axes(parts: KernelParts) -> tuple[int, ...] | None:
    return parts.own_axes if parts.vmapped else None


def _readable(parts: KernelParts, values: Sequence[Array | None]) -> dict[Var, Array]:
    """The Refs whose numbers are known: scalar-prefetch tables, and inputs that are in SMEM as a whole."""
    known = {}
    for ref, value in zip((*parts.prefetch, *parts.inputs), values, strict=False):
        mapping = parts.mapping(ref)
        here = mapping.space if mapping is not None else space(ref.aval)
        if value is not None and (ref in parts.prefetch or here == "smem") and value.shape == ref.aval.shape:
            known[ref] = value
    return known


class _GiveUp(Exception):
    """The replay cannot tell."""


class _Replay:
    def __init__(self, scope: Scope, wanted: Callable[[Node], bool]) -> None:
        self.scope = scope
        self.wanted = wanted
        self.found: dict[int, tuple[Node, int]] = {}
        self.left = BUDGET
        self.cells = MOST_CELLS
        self.holds: dict[int, bool] = {}

    def level(self, level: Level, active: Array) -> None:
        """Run a level in the grid steps that are `active`."""
        for node in level.nodes:
            self.node(node, active)

    def node(self, node: Node, active: Array) -> None:
        self.left -= 1
        self.cells -= len(active)
        if self.left < 0 or self.cells < 0:
            raise _GiveUp
        if self.wanted(node):
            _, before = self.found.get(id(node), (node, 0))
            self.found[id(node)] = (node, before + int(active.sum()))
        if not self.within(node):
            self.scope.run(node.eqn)
            return
        match node.eqn.primitive.name:
            case "cond":
                self.cond(node, active)
            case "while":
                self.loop(node, active)
            case "scan":
                self.scan(node, active)
            case _ if len(node.inner) == 1 and node.inner[0][0].role in ("call", "scope"):
                body, below = node.inner[0]
                self.results(node, self.turn(body, below, active))
            case _:
                raise _GiveUp

    def within(self, node: Node) -> bool:
        """Whether a body of this equation holds something wanted."""
        if not node.inner:
            return False
        if id(node) not in self.holds:
            self.holds[id(node)] = any(self.wanted(inner) for _, below in node.inner for inner in below.walk())
        return self.holds[id(node)]

    def turn(self, body: Body, below: Level, active: Array, carry: Sequence[Any] = ()) -> list[Any]:
        """Run a body once and read what it returns."""
        self.scope.enter(body)
        self.scope.values.update(zip(body.carried, carry, strict=False))
        for var in body.scanned:
            self.scope.values.pop(var, None)
        self.level(below, active)
        return [self.scope.read(v) for v in below.jaxpr.outvars]

    def results(self, node: Node, values: Sequence[Any]) -> None:
        self.scope.values.update(zip(node.eqn.outvars, values, strict=False))

    def cond(self, node: Node, active: Array) -> None:
        which = self.scope.read(node.eqn.invars[0])
        if which is None:
            raise _GiveUp
        self.scope.run(node.eqn)
        index = np.broadcast_to(np.clip(which.astype(np.int64), 0, len(node.inner) - 1), active.shape)
        for i, (body, below) in enumerate(node.inner):
            taken = active & (index == i)
            if taken.any():
                self.turn(body, below, taken)

    def scan(self, node: Node, active: Array) -> None:
        (body, below) = node.inner[0]
        carry = [self.scope.read(v) for v in body.carried.values()]
        for _ in range(body.trips or 0):
            carry = self.turn(body, below, active, carry)[: len(carry)]
        self.results(node, [*carry, *[None] * (len(node.eqn.outvars) - len(carry))])

    def loop(self, node: Node, active: Array) -> None:
        (test, test_level), (body, below) = node.inner
        carry = [self.scope.read(v) for v in body.carried.values()]
        while True:
            (go,) = self.turn(test, test_level, active, carry)
            if go is None:
                raise _GiveUp
            running = active & go
            if not running.any():
                self.results(node, carry)
                return
            after = self.turn(body, below, running, carry)
            carry = [
                None if a is None or b is None else np.where(running, a, b) for a, b in zip(after, carry, strict=True)
            ]
