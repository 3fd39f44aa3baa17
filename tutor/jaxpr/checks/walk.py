"""A kernel body, walked in program order: every equation with its Ref, its place, and the grid steps that run it.

Scalars are worked out for all grid steps at once (`tutor.jaxpr.scalars`), so for most kernels it is known at which
steps the body of a `pl.when` runs and which element a dynamic index means. Short loops with a known trip count are
unrolled. Where something cannot be known it is None, and rules stay silent about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tutor.jaxpr.compat import Jaxpr, JaxprEqn, Position, Var, View, is_ref, position
from tutor.jaxpr.equations import Body, Operation, bodies, operation
from tutor.jaxpr.index_maps import grid_steps
from tutor.jaxpr.kernels import KernelParts
from tutor.jaxpr.scalars import Array, Scope, Value
from tutor.protocol.facts import WINDOW

MAX_TURNS = 32
MAX_VISITS = 3000


@dataclass(frozen=True, eq=False)
class Event:
    """One equation of the kernel, as it runs.

    `active` has one boolean for each grid step looked at (None: unknown). `repeats` is set in a loop that was not
    unrolled, where it stands for any number of runs, also none. `ref`, `source`, `semaphore` and `source_semaphore`
    are the kernel's own Refs, through every nesting. `starts`, `source_starts` and `semaphore_index` are the values of
    the indices of `op.view`, `op.source` and `op.semaphore`, one for each dimension. `inside` names the enclosing
    bodies; `block` tells runs of a body apart: events of one block follow each other with nothing between.
    `result_used` says that something reads what the equation returns (a store returns the old value)."""

    eqn: JaxprEqn
    op: Operation | None
    place: Position | None
    active: Value
    repeats: bool
    inside: tuple[str, ...]
    block: int
    operands: tuple[Value, ...]
    result_used: bool
    ref: Var | None = None
    source: Var | None = None
    semaphore: Var | None = None
    source_semaphore: Var | None = None
    starts: tuple[Value, ...] | None = None
    source_starts: tuple[Value, ...] | None = None
    semaphore_index: tuple[Value, ...] | None = None

    @property
    def name(self) -> str:
        """The primitive's name."""
        return str(self.eqn.primitive.name)

    def certain(self, step: int) -> bool:
        """Whether this certainly runs at the step with that row."""
        return self.active is not None and not self.repeats and bool(self.active[step])

    def possible(self, step: int | None = None) -> bool:
        """Whether this may run, at all or at that step."""
        if self.active is None:
            return True
        return bool(self.active.any() if step is None else self.active[step])


@dataclass(eq=False)
class Walk:
    """What walking a kernel found. `steps` are the program ids looked at; `complete` says that these are all of them,
    otherwise it is the first one only. `escaped` are Refs given to something that this walk does not understand."""

    parts: KernelParts
    file_name: str
    steps: Array
    complete: bool
    scope: Scope
    used: frozenset[Var]
    events: list[Event] = field(default_factory=list)
    escaped: set[Var] = field(default_factory=set)
    scoped: dict[Var, str] = field(default_factory=dict)
    visits: int = 0
    blocks: int = 0
    _places: dict[int, Position | None] = field(default_factory=dict)

    def of(self, ref: Var) -> list[Event]:
        """The loads, stores and copies that touch a Ref, from either side."""
        return [e for e in self.events if e.op is not None and ref in (e.ref, e.source)]

    def name(self, ref: Var) -> str:
        """What the learner calls a Ref."""
        return self.parts.names.get(ref) or self.scoped.get(ref) or "a scoped ref"

    def name_windows(self) -> None:
        """Name what `emit_pipeline` allocates after the array that it pipelines, as the access table does."""
        for event in self.events:
            for window, array in ((event.ref, event.source), (event.source, event.ref)):
                if window is None or array is None or not self.scoped.get(window, "").startswith("allocations["):
                    continue
                self.scoped[window] = f"{self.name(array)}{WINDOW}"
                if event.semaphore in self.scoped:
                    self.scoped[event.semaphore] = f"{self.name(array)}.sem"

    # ------------------------------------------------------------ the walk itself

    def visit(self, jaxpr: Jaxpr, at: _Where) -> None:
        self.blocks += 1
        block = self.blocks
        for eqn in jaxpr.eqns:
            self.visits += 1
            place = self._place(eqn) or at.place
            inner = bodies(eqn)
            if inner and inner[0].role != "other":
                self._enter(eqn, inner, at.at(place))
                self.blocks += 1
                block = self.blocks
                continue
            self.events.append(self._event(eqn, block, at.at(place)))
            self.scope.run(eqn)

    def _place(self, eqn: JaxprEqn) -> Position | None:
        if id(eqn) not in self._places:
            self._places[id(eqn)] = position(eqn, self.file_name)
        return self._places[id(eqn)]

    def _event(self, eqn: JaxprEqn, block: int, at: _Where) -> Event:
        op = operation(eqn)
        operands = tuple(self.scope.read(v) if not is_ref(v) else None for v in eqn.invars)
        used = any(v in self.used for v in eqn.outvars)
        common = (eqn, op, at.place, at.active, at.repeats, at.inside, block, operands, used)
        if op is None:
            self.escaped.update(at.roots.get(v, v) for v in eqn.invars if isinstance(v, Var) and is_ref(v))
            return Event(*common)
        return Event(
            *common, at.root(op.view), at.root(op.source), at.root(op.semaphore), at.root(op.source_semaphore),
            self._starts(op.view), self._starts(op.source), self._starts(op.semaphore),
        )  # fmt: skip

    def _starts(self, view: View | None) -> tuple[Value, ...] | None:
        if view is None or view.indexed is None:
            return None
        return tuple(self.scope.read(d.start) for dims in view.indexed for d in dims)

    def _enter(self, eqn: JaxprEqn, inner: Sequence[Body], at: _Where) -> None:
        match inner[0].role:
            case "branch":
                outs = self._branches(eqn, inner, at)
            case "loop" | "condition":
                outs = self._loop(eqn, inner, at)
            case _:
                (body,) = inner
                if body.role == "scope":
                    self._name_allocations(body)
                outs = self._turn(body, at.into(body))
        for var, value in zip(eqn.outvars, outs, strict=True):
            self.scope.values[var] = value

    def _turn(self, body: Body, at: _Where, carry: Sequence[Value] | None = None) -> list[Value]:
        self.scope.enter(body)
        if carry is not None:
            self.scope.values.update(zip(body.carried, carry, strict=True))
        for var in body.scanned:
            self.scope.values.pop(var, None)
        self.visit(body.jaxpr, at)
        return [self.scope.read(v) for v in body.jaxpr.outvars]

    def _branches(self, eqn: JaxprEqn, inner: Sequence[Body], at: _Where) -> list[Value]:
        which = self.scope.read(eqn.invars[0])
        outs = []
        for i, body in enumerate(inner):
            here = at.into(body)
            if which is None:
                here.active = at.active if at.active is not None and not at.active.any() else None
            elif at.active is not None:
                chosen = np.clip(which.astype(np.int64), 0, len(inner) - 1) == i
                here.active = at.active & np.broadcast_to(chosen, at.active.shape)
            outs.append(self._turn(body, here))
        if which is None:
            return [None] * len(eqn.outvars)
        values = list(zip(*outs, strict=True)) if eqn.outvars else []
        index = np.clip(which.astype(np.int64), 0, len(inner) - 1)
        return [None if any(v is None for v in vs) else np.choose(index, vs) for vs in values]

    def _loop(self, eqn: JaxprEqn, inner: Sequence[Body], at: _Where) -> list[Value]:
        body, test = inner[-1], inner[0] if len(inner) == 2 else None
        carry: list[Value] = [self.scope.read(v) for v in body.carried.values()]
        known = self._unrolled_scan(body, at, carry) if test is None else self._unrolled_while(test, body, at, carry)
        if known is not None:
            return known + [None] * (len(eqn.outvars) - len(known))
        here = at.into(body)
        if body.trips != 1:
            here.repeats = True
        if test is not None:
            here.active = None
            self._turn(test, at.into(test), [None] * len(test.carried))
        self._turn(body, here, [None] * len(carry))
        return [None] * len(eqn.outvars)

    def _unrolled_scan(self, body: Body, at: _Where, carry: list[Value]) -> list[Value] | None:
        if body.trips is None or not self._affordable(body, body.trips):
            return None
        for _ in range(body.trips):
            carry = self._turn(body, at.into(body), carry)[: len(carry)]
        return carry

    def _unrolled_while(self, test: Body, body: Body, at: _Where, carry: list[Value]) -> list[Value] | None:
        """Only where a dry run shows that the condition is always known and soon false."""
        if at.active is None or self._while_turns(test, body, carry) is None:
            return None
        going = np.ones(len(self.steps), bool)
        while True:
            (go,) = self._turn(test, at.into(test), carry)
            assert go is not None
            going = going & np.broadcast_to(go, going.shape)
            if not going.any():
                return carry
            here = at.into(body)
            here.active = at.active & going
            after = self._turn(body, here, carry)
            carry = [
                None if a is None or b is None else np.where(going, a, b) for a, b in zip(after, carry, strict=True)
            ]

    def _while_turns(self, test: Body, body: Body, carry: list[Value]) -> int | None:
        going = np.ones(len(self.steps), bool)
        for turn in range(MAX_TURNS):
            if not self._affordable(body, turn + 1):
                return None
            go = self._dry(test, carry)[0]
            if go is None:
                return None
            going = going & np.broadcast_to(go, going.shape)
            if not going.any():
                return turn
            after = self._dry(body, carry)
            carry = [
                None if a is None or b is None else np.where(going, a, b) for a, b in zip(after, carry, strict=True)
            ]
        return None

    def _dry(self, body: Body, carry: list[Value]) -> list[Value]:
        self.scope.enter(body)
        self.scope.values.update(zip(body.carried, carry, strict=True))
        return self.scope.evaluate(body.jaxpr)

    def _affordable(self, body: Body, trips: int) -> bool:
        return trips <= MAX_TURNS and self.visits + trips * _size(body.jaxpr) <= MAX_VISITS

    def _name_allocations(self, body: Body) -> None:
        names = list(body.jaxpr.debug_info.arg_names or ())
        for i, var in enumerate(body.jaxpr.invars):
            self.scoped[var] = str(names[i]) if i < len(names) and names[i] else "a scoped ref"


@dataclass
class _Where:
    """Where the walk stands: what inner Refs stand for, which steps come here."""

    roots: dict[Var, Var]
    place: Position | None
    active: Value
    repeats: bool
    inside: tuple[str, ...]

    def at(self, place: Position | None) -> _Where:
        return _Where(self.roots, place, self.active, self.repeats, self.inside)

    def into(self, body: Body) -> _Where:
        outer = {**body.carried, **body.scanned, **body.outer}
        roots = {i: self.roots.get(o, o) for i, o in outer.items() if isinstance(o, Var) and is_ref(i)}
        return _Where({**self.roots, **roots}, self.place, self.active, self.repeats, (*self.inside, body.role))

    def root(self, view: View | None) -> Var | None:
        return None if view is None else self.roots.get(view.ref, view.ref)


def _size(jaxpr: Jaxpr) -> int:
    return sum(1 + sum(_size(b.jaxpr) * min(b.trips or 1, MAX_TURNS) for b in bodies(eqn)) for eqn in jaxpr.eqns)


def _used(jaxpr: Jaxpr) -> Iterator[Var]:
    """Every variable that something reads."""
    yield from (v for v in jaxpr.outvars if isinstance(v, Var))
    for eqn in jaxpr.eqns:
        yield from (v for v in eqn.invars if isinstance(v, Var))
        for body in bodies(eqn):
            yield from _used(body.jaxpr)


def walk(parts: KernelParts, file_name: str, tables: Mapping[Var, Array] | None = None) -> Walk:
    """Walk a kernel. `tables` are the known contents of scalar-prefetch Refs (the body's own variables)."""
    steps = grid_steps(parts.grid)
    complete = steps is not None
    if steps is None:
        steps = np.zeros((1, len(parts.grid)), np.int32)
    used = frozenset(_used(parts.jaxpr))
    scope = Scope(steps, parts.grid, tables, parts.own_axes)
    result = Walk(parts, file_name, steps, complete, scope, used)
    result.visit(parts.jaxpr, _Where({}, None, np.ones(len(steps), bool), False, ()))
    result.name_windows()
    return result
