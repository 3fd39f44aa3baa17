"""A kernel body read once: every equation with the learner's place, the Refs it touches, and the bodies inside it.

The access table, the printed text, the facts and the replay all walk this tree, so that they cannot disagree."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tutor.jaxpr.compat import (
    Constant,
    Dim,
    Jaxpr,
    JaxprEqn,
    Position,
    Var,
    View,
    is_of_pipeline,
    is_ref,
    position,
    space,
)
from tutor.jaxpr.equations import Body, Operation, bodies, operation
from tutor.jaxpr.names import NameBook, clean
from tutor.protocol import AccessKind, Space
from tutor.protocol.facts import WINDOW

COUNTED = ("load", "store", "accumulate", "copy_start")
"""The kinds that are summed over a grid step."""

TRANSPARENT = frozenset({
    "jit", "pjit", "closed_call", "core_call", "remat2", "checkpoint", "custom_jvp_call", "custom_vjp_call",
    "custom_vjp_call_jaxpr", "custom_lin", "xla_metadata_call",
})  # fmt: skip
"""Equations that only group others: they do no work of their own."""


@dataclass(slots=True, eq=False)
class Ref:
    """A Ref of a kernel under the name that the learner gave it. Inner bodies see the same object.

    `pipeline`: JAX's own `emit_pipeline` allocates it."""

    name: str
    space: Space
    shape: tuple[int, ...]
    dtype: str
    pipeline: bool = False


@dataclass(frozen=True, slots=True)
class Touch:
    """What one equation does to memory: `ref` is read or written; a copy goes from `ref` to `to`."""

    kind: AccessKind
    ref: Ref
    view: View
    to: Ref | None = None
    to_view: View | None = None
    semaphore: Ref | None = None


@dataclass(slots=True)
class Node:
    """One equation. `times` is how often it runs in one grid step if every branch is taken, None if data decides."""

    eqn: JaxprEqn
    place: Position | None
    touch: Touch | None
    operation: Operation | None
    times: int | None
    branch: bool
    inner: tuple[tuple[Body, Level], ...] = ()


@dataclass(slots=True)
class Level:
    """One jaxpr: its nodes in order and the Refs among its variables."""

    jaxpr: Jaxpr
    refs: dict[Var, Ref] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    allocated: list[Ref] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        """Every node, inner ones after the equation that holds them."""
        for node in self.nodes:
            yield node
            for _, level in node.inner:
                yield from level.walk()

    def scratch(self) -> Iterator[Ref]:
        """The Refs that `run_scoped` allocates, here and inside."""
        yield from self.allocated
        for node in self.nodes:
            for _, level in node.inner:
                yield from level.scratch()


def read_kernel(jaxpr: Jaxpr, names: Mapping[Var, str], file_name: str) -> Level:
    """Read the body of a kernel whose Ref variables have these names."""
    level = _Reader(file_name, NameBook()).kernel(jaxpr, names)
    _name_windows(level)
    return level


def _name_windows(level: Level) -> None:
    """Name what `emit_pipeline` allocates after the array that it pipelines: `x_hbm.window` and `x_hbm.sem`."""
    for touch in (node.touch for node in level.walk()):
        if touch is None or touch.to is None:
            continue
        for window, array in ((touch.ref, touch.to), (touch.to, touch.ref)):
            if window.pipeline and window.name.startswith("allocations["):
                window.name = f"{array.name}{WINDOW}"
                if touch.semaphore and touch.semaphore.name.startswith("allocations["):
                    touch.semaphore.name = f"{array.name}.sem"


def view_shape(view: View) -> tuple[tuple[int, ...], bool]:
    """The shape that a view touches, and whether it is exact: a size that data decides counts as the whole extent."""
    try:
        shape = view.shape
    except (TypeError, ValueError, NotImplementedError, AttributeError):
        return tuple(view.ref.aval.shape), False
    if all(isinstance(n, int) for n in shape):
        return tuple(shape), True
    extents = [d.extent for d in view.indexed[-1] if not d.squeezed] if view.indexed else list(view.ref.aval.shape)
    if len(extents) != len(shape):
        return tuple(view.ref.aval.shape), False
    return tuple(n if isinstance(n, int) else e for n, e in zip(shape, extents, strict=True)), False


def item_bytes(dtype: Any) -> float:
    """Bytes of one element; 4-bit types have half a byte, semaphores none."""
    name = str(dtype)
    if "sem" in name:
        return 0
    if name.endswith("int4") or name.startswith("float4"):
        return 0.5
    if name.endswith("int2"):
        return 0.25
    return int(getattr(dtype, "itemsize", 0))


def view_bytes(view: View) -> int | None:
    """Bytes that one execution touches, or None if data decides."""
    shape, exact = view_shape(view)
    return math.ceil(math.prod(shape) * item_bytes(view.dtype)) if exact else None


# ---------------------------------------------------------------- reading


type Loads = frozenset[Hashable]
NOTHING: Loads = frozenset()


@dataclass(slots=True)
class _Values:
    """What is known of the values in one body: which loads each depends on, and which are certainly equal."""

    loads: dict[Var, Loads] = field(default_factory=dict)
    same: dict[Var, Hashable] = field(default_factory=dict)


class _Reader:
    """Reads one kernel. Its state is the name book and the numbers given to equal scalar expressions."""

    def __init__(self, file_name: str, book: NameBook) -> None:
        self.file_name = file_name
        self.book = book
        self.numbers: dict[Hashable, int] = {}

    def kernel(self, jaxpr: Jaxpr, names: Mapping[Var, str]) -> Level:
        level = Level(jaxpr)
        for i, var in enumerate((*jaxpr.constvars, *jaxpr.invars)):
            if is_ref(var):
                level.refs[var] = self.ref(var, names.get(var) or f"ref{i}")
        self.body(level, _Values(), None, 1, False)
        return level

    def ref(self, var: Var, name: str, pipeline: bool = False) -> Ref:
        if name.endswith(WINDOW) and not pipeline:
            name = f"{name}_"
        # a Ref of the program around (`core_map`) says no space: it stays where arrays are
        where = space(var.aval) if getattr(var.aval, "memory_space", None) is not None else "any"
        return Ref(self.book.take(clean(name)), where, tuple(var.aval.shape), str(var.aval.dtype), pipeline)

    def body(self, level: Level, values: _Values, place: Position | None, times: int | None, branch: bool) -> None:
        for eqn in level.jaxpr.eqns:
            here = position(eqn, self.file_name) or place
            op = operation(eqn)
            touch = self.touch(eqn, op, level, values) if op else None
            node = Node(eqn, here, touch, op, times, branch)
            level.nodes.append(node)
            for var in eqn.outvars:
                if is_ref(var):
                    level.refs[var] = self.ref(var, eqn.primitive.name)
            self.evaluate(node, level, values)

    def touch(self, eqn: JaxprEqn, op: Operation, level: Level, values: _Values) -> Touch | None:
        ref = level.refs.get(op.view.ref)
        if ref is None:
            return None
        match op.kind:
            case "load":
                return Touch("load", ref, op.view)
            case "store":
                again = op.add or self.key(ref, op.view, values) in _loads(op.value, values)
                return Touch("accumulate" if again else "store", ref, op.view)
            case "copy_start" | "copy_wait":
                if op.source is None:
                    return None
                source, into = (op.view, op.source) if op.waits_for_send else (op.source, op.view)
                start, end = level.refs.get(source.ref), level.refs.get(into.ref)
                if start is None or end is None:
                    return None
                semaphore = level.refs.get(op.semaphore.ref) if op.semaphore else None
                return Touch(op.kind, start, source, end, into, semaphore)
        return Touch("semaphore", ref, op.view)

    def evaluate(self, node: Node, level: Level, values: _Values) -> None:
        """Read the bodies inside the equation, and follow values through it."""
        eqn, op = node.eqn, node.operation
        depends = NOTHING.union(*(_loads(v, values) for v in eqn.invars)) if len(eqn.invars) else NOTHING
        if op and op.kind == "load" and node.touch:
            depends = frozenset({self.key(node.touch.ref, op.view, values)})
        outs = [depends] * len(eqn.outvars)
        inner: list[tuple[Body, Level]] = []
        for body in bodies(eqn):
            below = Level(body.jaxpr)
            seen = _Values()
            self.bind(body, level, below, values, seen)
            times = None if node.times is None or body.trips is None else node.times * body.trips
            self.body(below, seen, node.place, times, node.branch or body.role == "branch")
            if body.role == "call" and len(body.jaxpr.outvars) == len(outs):
                outs = [_loads(v, seen) for v in body.jaxpr.outvars]
            inner.append((body, below))
        node.inner = tuple(inner)
        for var, found in zip(eqn.outvars, outs, strict=True):
            if found:
                values.loads[var] = found
        self.number(eqn, values)

    def bind(self, body: Body, level: Level, below: Level, outside: _Values, inside: _Values) -> None:
        """Give the inner variables the outer names and, where they keep one value, what is known of it."""
        for var, atom in {**body.outer, **body.carried}.items():
            if isinstance(atom, Var) and atom in level.refs:
                below.refs[var] = level.refs[atom]
        for var, atom in body.outer.items():
            known = self.same(atom, outside)
            if known is not None:
                inside.same[var] = known
            if body.role == "call" and (found := _loads(atom, outside)):
                inside.loads[var] = found
        names = list(body.jaxpr.debug_info.arg_names or ())
        for i, var in enumerate(body.jaxpr.invars):
            if is_ref(var) and var not in below.refs:
                name = names[i] if i < len(names) and names[i] else f"scratch{i}"
                below.refs[var] = self.ref(var, str(name), is_of_pipeline(body.jaxpr))
                below.allocated.append(below.refs[var])

    # equal scalars: `ref[i + 1] = ref[i + 1] + x` adds twice, and is one index

    def number(self, eqn: JaxprEqn, values: _Values) -> None:
        if len(eqn.outvars) != 1 or eqn.effects or getattr(eqn.outvars[0].aval, "shape", None) != ():
            return
        operands = [self.same(v, values) for v in eqn.invars]
        if None in operands:
            return
        try:
            key = (eqn.primitive.name, tuple(eqn.params.values()), tuple(operands))
            values.same[eqn.outvars[0]] = ("v", self.numbers.setdefault(key, len(self.numbers)))
        except TypeError:  # a parameter without a hash: nothing is known to be equal
            return

    def same(self, atom: Any, values: _Values) -> Hashable:
        if isinstance(atom, Constant):
            value = atom.val
            return ("c", str(value)) if getattr(value, "shape", ()) == () else None
        if not isinstance(atom, Var):
            return ("c", str(atom))
        return values.same.setdefault(atom, ("v", self.numbers.setdefault(atom, len(self.numbers))))

    def key(self, ref: Ref, view: View, values: _Values) -> Hashable:
        """Equal for two views of the same elements; `ref[...]`, `ref[:, :]` and a whole view are one."""
        if view.indexed is None:
            return (ref.name, str(view.raw))
        steps = [dims for dims in view.indexed if not all(d.whole for d in dims)]
        return (ref.name, *(tuple(self.dim(d, values) for d in dims) for dims in steps))

    def dim(self, dim: Dim, values: _Values) -> Hashable:
        return (self.same(dim.start, values), dim.size, dim.stride, dim.squeezed)


def _loads(atom: Any, values: _Values) -> Loads:
    return values.loads.get(atom, NOTHING) if isinstance(atom, Var) else NOTHING


# ---------------------------------------------------------------- sums over one grid step


def per_step(level: Level, amount: Callable[[Node], int | None]) -> int | None:
    """The sum of `amount` over one grid step; of the branches of each `cond` the largest counts.

    `amount` is for one execution of one node; None (here or for the trip count) makes the sum None."""
    total: int | None = 0
    for node in level.nodes:
        own = amount(node)
        if own:
            total = _add(total, None if node.times is None else own * node.times)
        elif own is None:
            return None
        sums = [per_step(below, amount) for _, below in node.inner]
        if node.eqn.primitive.name == "cond":
            sums = [None if None in sums else max((s or 0 for s in sums), default=0)]
        for part in sums:
            total = _add(total, part)
        if total is None:
            return None
    return total


def _add(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


def count(level: Level, kind: AccessKind) -> int | None:
    """How often `kind` happens in one grid step."""
    return per_step(level, lambda node: int(node.touch is not None and node.touch.kind == kind))
