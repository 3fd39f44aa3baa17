"""The scalar part of a jaxpr, worked out with NumPy for many grid steps at once.

Block indices, loop counters and the conditions of `pl.when` are scalars that follow from the grid step. A value here is
an array with one entry for each grid step, or a 0-d array where it is the same for all, or None where it cannot be
known: vectors, loaded data, random bits, and every primitive that is not in the table. Nothing starts a JAX backend.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tutor.jaxpr.compat import Constant, Jaxpr, JaxprEqn, Var, is_ref
from tutor.jaxpr.equations import Atom, Body, bodies, operation

type Array = np.ndarray[Any, Any]
type Value = Array | None
"""Integers, booleans or floats, of shape (steps,) or (); None is unknown."""

MAX_TRIPS = 4096


class Scope:
    """What is known while a jaxpr is read: the values of variables, the tables behind prefetch Refs, and the grid.

    `steps` has shape (steps, rank): one row of program ids for each step that is looked at. `axes` are the grid axes
    that `program_id` counts, where not all of them."""

    def __init__(
        self,
        steps: Array,
        grid: Sequence[int | None],
        tables: Mapping[Var, Array] | None = None,
        axes: Sequence[int] | None = None,
    ):
        self.steps = steps
        self.grid = tuple(grid)
        self.axes = tuple(range(len(self.grid)) if axes is None else axes)
        self.values: dict[Var, Value] = {}
        self.tables: dict[Var, Array] = dict(tables or {})

    def read(self, atom: Atom) -> Value:
        """The value of a variable or constant."""
        if isinstance(atom, Constant):
            return np.asarray(atom.val) if np.ndim(atom.val) == 0 else None
        if isinstance(atom, Var):
            return self.values.get(atom)
        return np.asarray(atom) if isinstance(atom, int | np.integer) else None

    def enter(self, body: Body, *, first: bool = False) -> None:
        """Name the inputs of an inner body. Loop carries are unknown, unless only the `first` turn is looked at."""
        for inner, outer in body.outer.items():
            self.bind(inner, outer)
        for inner, outer in body.carried.items():
            if first:
                self.bind(inner, outer)
            else:
                self.values.pop(inner, None)

    def bind(self, inner: Var, outer: Atom) -> None:
        """Let `inner` stand for what `outer` is."""
        if isinstance(outer, Var) and outer in self.tables:
            self.tables[inner] = self.tables[outer]
        self.values[inner] = self.read(outer)

    def run(self, eqn: JaxprEqn) -> None:
        """Give the outputs of `eqn` their values; unknown ones become None."""
        for var, value in zip(eqn.outvars, self._outputs(eqn), strict=True):
            self.values[var] = None if value is None else _cast(value, var.aval)

    def evaluate(self, jaxpr: Jaxpr) -> list[Value]:
        """Run every equation of `jaxpr`, whose inputs have been named, and read its outputs."""
        for eqn in jaxpr.eqns:
            self.run(eqn)
        return [self.read(v) for v in jaxpr.outvars]

    def _outputs(self, eqn: JaxprEqn) -> list[Value]:
        name = eqn.primitive.name
        unknown: list[Value] = [None] * len(eqn.outvars)
        if name == "program_id":
            return [self.steps[:, self.axes[eqn.params["axis"]]]]
        if name == "num_programs":
            size = self.grid[self.axes[eqn.params["axis"]]]
            return [None if size is None else np.asarray(size)]
        if name == "get":
            return [self._table_entry(eqn)]
        if name == "cond":
            return self._cond(eqn)
        if name == "scan":
            return self._scan(eqn)
        if name == "while":
            return self._while(eqn)
        inner = bodies(eqn)
        if len(inner) == 1 and inner[0].role == "call" and len(inner[0].outer) == len(eqn.invars):
            self.enter(inner[0])
            return self.evaluate(inner[0].jaxpr)
        rule = RULES.get(name)
        if rule is None or any(v.aval.shape != () for v in eqn.outvars):
            return unknown
        operands = [self.read(v) for v in eqn.invars]
        if any(o is None for o in operands):
            return unknown
        with np.errstate(all="ignore"):
            return [rule(*operands, **(eqn.params if name in TAKES_PARAMS else {}))]

    def _table_entry(self, eqn: JaxprEqn) -> Value:
        """An entry of a scalar-prefetch table whose contents are known."""
        op = operation(eqn)
        assert op is not None
        table, indexed = self.tables.get(op.view.ref), op.view.indexed
        if table is None or indexed is None or len(indexed) > 1 or op.view.shape != ():
            return None
        index = [self.read(d.start) for d in indexed[0]] if indexed else []
        known = [i for i in index if i is not None]
        inside = all(bool(((i >= 0) & (i < n)).all()) for i, n in zip(known, table.shape, strict=False))
        return np.asarray(table[tuple(known)]) if inside and len(known) == len(index) == table.ndim else None

    def _cond(self, eqn: JaxprEqn) -> list[Value]:
        which = self.read(eqn.invars[0])
        if which is None:
            return [None] * len(eqn.outvars)
        branches = bodies(eqn)
        which = np.clip(which.astype(np.int64), 0, len(branches) - 1)
        taken = np.unique(which)
        outs = []
        for i, body in enumerate(branches):
            self.enter(body)
            outs.append(self.evaluate(body.jaxpr) if i in taken else None)
        return [_pick(which, [None if o is None else o[n] for o in outs], taken) for n in range(len(eqn.outvars))]

    def _scan(self, eqn: JaxprEqn) -> list[Value]:
        (body,) = bodies(eqn)
        carry = [self.read(v) for v in body.carried.values()]
        fits = body.trips is not None and body.trips <= MAX_TRIPS and not body.scanned
        if not fits or all(c is None for c in carry) or any(is_ref(v) for v in body.carried):
            return [None] * len(eqn.outvars)
        for _ in range(body.trips or 0):
            self.enter(body)
            self.values.update(zip(body.carried, carry, strict=True))
            carry = self.evaluate(body.jaxpr)[: len(carry)]
        return carry + [None] * (len(eqn.outvars) - len(carry))

    def _while(self, eqn: JaxprEqn) -> list[Value]:
        test, body = bodies(eqn)
        carry = [self.read(v) for v in body.carried.values()]
        for _ in range(MAX_TRIPS):
            self.enter(test)
            self.values.update(zip(test.carried, carry, strict=True))
            (go,) = self.evaluate(test.jaxpr)
            if go is None:
                break
            if not go.any():
                return carry
            self.enter(body)
            self.values.update(zip(body.carried, carry, strict=True))
            after = self.evaluate(body.jaxpr)
            carry = [None if a is None or b is None else np.where(go, a, b) for a, b in zip(after, carry, strict=True)]
        return [None] * len(eqn.outvars)


def _pick(which: Array, values: list[Value], taken: Array) -> Value:
    """For each step the value of its branch; unknown if that of any taken branch is."""
    out: Value = None
    for i in taken:
        value = values[i]
        if value is None:
            return None
        out = value if out is None else np.where(which == i, value, out)
    return out


def _cast(value: Array, aval: Any) -> Value:
    try:
        dtype = np.dtype(aval.dtype)
    except (AttributeError, TypeError):
        return None
    if np.issubdtype(dtype, np.integer) and np.issubdtype(value.dtype, np.floating):
        return saturated(value, dtype)
    return value if value.dtype == dtype else value.astype(dtype)


def saturated(value: Array, dtype: Any) -> Array:
    """Floats as integers as XLA makes them: what is out of reach becomes the nearest integer, and NaN becomes 0."""
    most = np.iinfo(dtype)
    wide = np.nan_to_num(np.trunc(value.astype(np.float64)), nan=0.0)
    inside = (wide > most.min) & (wide < most.max)
    whole = np.where(inside, wide, 0.0).astype(dtype)
    return np.asarray(np.where(inside, whole, np.where(wide > 0, most.max, most.min)), dtype)


def _div(a: Array, b: Array) -> Array:
    if not np.issubdtype(a.dtype, np.integer):
        return np.asarray(a / b)
    safe = np.where(b == 0, 1, b)
    quotient = np.sign(a) * np.sign(safe) * (np.abs(a.astype(np.int64)) // np.abs(safe.astype(np.int64)))
    return np.where(b == 0, -1, quotient)


def _rem(a: Array, b: Array) -> Array:
    """As XLA: what is left of a division by 0 is all of an integer."""
    if not np.issubdtype(a.dtype, np.integer):
        return np.asarray(np.fmod(a, b))
    return np.where(b == 0, a, np.fmod(a, np.where(b == 0, 1, b)))


def _select(which: Array, *cases: Array) -> Array:
    out = np.asarray(cases[0])
    for i, case in enumerate(cases[1:], start=1):
        out = np.where(which.astype(np.int64) == i, case, out)
    return out


def _same(x: Array, **_: Any) -> Array:
    return x


def _integer_pow(x: Array, *, y: int, **_: Any) -> Array:
    return np.asarray(x**y)


RULES: dict[str, Callable[..., Array]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": _div, "rem": _rem, "neg": np.negative,
    "sign": np.sign, "max": np.maximum, "min": np.minimum, "abs": np.abs, "floor": np.floor, "ceil": np.ceil,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert,
    "shift_left": np.left_shift, "shift_right_arithmetic": np.right_shift,
    "select_n": _select, "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
    "convert_element_type": _same, "multiple_of": _same, "broadcast_in_dim": _same, "reshape": _same, "squeeze": _same,
    "copy": _same, "copy_p": _same, "stop_gradient": _same, "integer_pow": _integer_pow,
}  # fmt: skip
"""Scalar primitives. Whatever is not here is unknown."""

TAKES_PARAMS = {
    "convert_element_type", "multiple_of", "broadcast_in_dim", "reshape", "squeeze", "copy", "copy_p", "stop_gradient",
    "integer_pow",
}  # fmt: skip
