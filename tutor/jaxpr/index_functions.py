"""The scalar part of a Mosaic function, worked out with NumPy for many grid steps at once.

Index maps are such functions; loop bounds and the conditions round a copy are the scalar part of a kernel. A value is
an array with one entry for each grid step, or a 0-d array where it is the same for all, or None where it cannot be
known: vectors, data in VMEM, random bits, and every operation that is not in the table. `jaxpr/scalars.py` does the
same for a jaxpr; the two share what XLA means by division and rounding, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from tutor.jaxpr.mosaic_code import Block, Function, Op, Type
from tutor.jaxpr.scalars import RULES, saturated

type Array = np.ndarray[Any, Any]
type Value = Array | None

MOST_TURNS = 4096
"""Turns of a loop before giving up."""
MOST_CELLS = 200_000_000
"""Operations times grid steps before giving up."""
LOOPS = ("scf.for", "scf.while")

DTYPES: dict[str, Any] = {
    "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "index": np.int64,
    "f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
}  # fmt: skip


class TooLong(Exception):
    """A loop turns too often, or there is too much to work out."""


class Scalars:
    """What is known of the scalars of one function, in all grid steps that are looked at.

    `tables` are the contents of memory that is only read, by the value that stands for it."""

    def __init__(self, function: Function, steps: int = 1, tables: Mapping[int, Array] | None = None) -> None:
        self.types = function.types
        self.steps = steps
        self.tables = dict(tables or {})
        self.values: list[Value] = [None] * len(function.types)
        self.left = MOST_CELLS

    def read(self, numbers: Sequence[int]) -> list[Value]:
        """The values with these numbers."""
        return [self.values[n] for n in numbers]

    def bind(self, numbers: Sequence[int], values: Sequence[Value]) -> None:
        """Give values to numbers."""
        for number, value in zip(numbers, values, strict=False):
            self.values[number] = value

    def spend(self) -> None:
        """Count one operation. Raises `TooLong`."""
        self.left -= self.steps
        if self.left < 0:
            raise TooLong

    def run(self, block: Block) -> list[Value]:
        """Run a block whose arguments are bound; what its last operation gives back."""
        for op in block.ops:
            self.do(op)
        return self.read(block.ops[-1].operands) if block.ops else []

    def do(self, op: Op) -> None:
        """Give the results of an operation their values."""
        self.spend()
        if op.results:
            self.bind(op.results, self._results(op))

    def _results(self, op: Op) -> list[Value]:
        unknown: list[Value] = [None] * len(op.results)
        match op.name:
            case "arith.constant":
                dtype = DTYPES.get(self._scalar(op.results[0]))
                return unknown if op.detail is None or dtype is None else [np.asarray(op.detail, dtype)]
            case "memref.load":
                return [self._entry(op)]
            case "scf.if":
                return self._branch(op)
            case "scf.for":
                return self._for(op)
            case "scf.while":
                return self._while(op)
        dtype = DTYPES.get(self._scalar(op.results[0]))
        rule = OPERATIONS.get(op.name)
        operands = self.read(op.operands)
        if rule is None or dtype is None:
            return unknown
        known = [operand for operand in operands if operand is not None]
        if len(known) < len(operands):
            return unknown
        with np.errstate(all="ignore"):
            value = np.asarray(rule(op.detail, *known))
            return [saturated(value, dtype) if op.name == "arith.fptosi" else value.astype(dtype)]

    def _scalar(self, number: int) -> str:
        type_: Type = self.types[number]
        return type_ if isinstance(type_, str) else ""

    def _entry(self, op: Op) -> Value:
        """An entry of a table."""
        table, *index = op.operands
        content, at = self.tables.get(table), self.read(index)
        known = [i for i in at if i is not None]
        if content is None or len(known) < len(at) or len(known) != content.ndim:
            return None
        if not all(bool(((i >= 0) & (i < n)).all()) for i, n in zip(known, content.shape, strict=True)):
            return None
        return np.asarray(content[tuple(known)])

    def _branch(self, op: Op) -> list[Value]:
        (condition,) = self.read(op.operands)
        if condition is None:
            return [None] * len(op.results)
        some, every = bool(condition.any()), bool(condition.all())
        yes = self.run(op.blocks[0]) if some else []
        no = self.run(op.blocks[1]) if not every and len(op.blocks) > 1 else []
        if every or not some:
            return yes if every else no
        return [_where(condition, a, b) for a, b in zip(yes, no, strict=True)]

    def _for(self, op: Op) -> list[Value]:
        low, high, step, *carry = self.read(op.operands)
        if low is None or high is None or step is None or not (step > 0).all():
            return [None] * len(op.results)
        turns = np.maximum(0, -((low - high) // step))
        for turn in range(int(turns.max())):
            if turn > MOST_TURNS:
                raise TooLong
            self.bind(op.blocks[0].arguments, [low + turn * step, *carry])
            after = self.run(op.blocks[0])
            goes = turn < turns
            carry = after if goes.all() else [_where(goes, a, b) for a, b in zip(after, carry, strict=True)]
        return carry

    def _while(self, op: Op) -> list[Value]:
        carry = self.read(op.operands)
        for _ in range(MOST_TURNS):
            self.bind(op.blocks[0].arguments, carry)
            go, *passed = self.run(op.blocks[0])
            if go is None:
                return [None] * len(op.results)
            if not go.any():
                return passed
            self.bind(op.blocks[1].arguments, passed)
            carry = [_where(go, a, b) for a, b in zip(self.run(op.blocks[1]), passed, strict=True)]
        raise TooLong

    def turns(self, op: Op) -> int | None:
        """How often a loop turns, where that is known and the same in all steps."""
        if op.name != "scf.for":
            return None
        low, high, step = self.read(op.operands[:3])
        return _turns(low, high, step)


def _turns(low: Value, high: Value, step: Value) -> int | None:
    if low is None or high is None or step is None or any(bound.ndim for bound in (low, high, step)) or step <= 0:
        return None
    return max(0, -(-(int(high) - int(low)) // int(step)))


def _where(condition: Array, yes: Value, no: Value) -> Value:
    return None if yes is None or no is None else np.where(condition, yes, no)


def block_indices(function: Function, steps: Array, tables: Sequence[Array | None]) -> Array | None:
    """What an index map gives at every grid step: int64 of shape (steps, rank of the array).

    `steps` has one row of program ids for each step, `tables` the contents of the scalar-prefetch operands, None where
    unknown. None where it cannot be known."""
    count, axes = steps.shape
    arguments = function.body.arguments
    known = {n: table for n, table in zip(arguments[axes:], tables, strict=False) if table is not None}
    scalars = Scalars(function, count, known)
    scalars.bind(arguments, [steps[:, axis] for axis in range(axes)])
    try:
        columns = scalars.run(function.body)
    except TooLong:
        return None
    found = np.empty((count, len(columns)), np.int64)
    for d, column in enumerate(columns):
        if column is None:
            return None
        found[:, d] = column
    return found


# ---------------------------------------------------------------- operations


def _unsigned(x: Array) -> Array:
    return x.view(x.dtype.str.replace("i", "u")) if x.dtype.kind == "i" else x


_COMPARED: tuple[Callable[[Array, Array], Any], ...] = (
    np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
)  # fmt: skip
_ORDERED: tuple[Callable[[Array, Array], Any], ...] = (
    np.equal, np.greater, np.greater_equal, np.less, np.less_equal, np.not_equal,
)  # fmt: skip


def _cmpi(predicate: int, a: Array, b: Array) -> Any:
    if predicate < len(_COMPARED):
        return _COMPARED[predicate](a, b)
    return _COMPARED[predicate - 4](_unsigned(a), _unsigned(b))


def _cmpf(predicate: int, a: Array, b: Array) -> Any:
    """MLIR's predicates: 1 to 6 are false where one is NaN, 8 to 13 true."""
    nan = np.isnan(a) | np.isnan(b)
    match predicate:
        case 0 | 15:
            return np.full(nan.shape, predicate == 15)
        case 7 | 14:
            return nan == (predicate == 14)
    return np.where(nan, predicate > 7, _ORDERED[(predicate - 1) % 7](a, b))


def _plain(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda _, *operands: rule(*operands)


def _on_unsigned(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda _, *operands: rule(*map(_unsigned, operands))


def _same(x: Array) -> Array:
    return x


def _signed(x: Array) -> Array:
    """A truth value with a sign is 0 or -1."""
    return -x.astype(np.int8) if x.dtype == np.bool_ else x


_PLAIN: dict[str, Callable[..., Any]] = {
    "arith.addi": np.add, "arith.subi": np.subtract, "arith.muli": np.multiply, "arith.divsi": RULES["div"],
    "arith.remsi": RULES["rem"], "arith.andi": np.bitwise_and, "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor, "arith.shli": np.left_shift, "arith.shrsi": np.right_shift,
    "arith.maxsi": np.maximum, "arith.minsi": np.minimum, "arith.select": np.where, "arith.index_cast": _same,
    "arith.extsi": _signed, "arith.trunci": _same, "arith.sitofp": _signed, "arith.fptosi": _same,
    "arith.extf": _same, "arith.truncf": _same, "tpu.assume_multiple": _same, "arith.addf": np.add,
    "arith.subf": np.subtract, "arith.mulf": np.multiply, "arith.divf": np.divide, "arith.remf": np.fmod,
    "arith.negf": np.negative, "arith.maximumf": np.maximum, "arith.minimumf": np.minimum, "math.absi": np.abs,
    "math.absf": np.abs, "math.floor": np.floor, "math.ceil": np.ceil,
}  # fmt: skip
_UNSIGNED: dict[str, Callable[..., Any]] = {
    "arith.divui": np.floor_divide, "arith.remui": np.remainder, "arith.maxui": np.maximum,
    "arith.minui": np.minimum, "arith.extui": _same, "arith.uitofp": _same, "arith.index_castui": _same,
}  # fmt: skip
OPERATIONS: dict[str, Callable[..., Any]] = {
    "arith.cmpi": _cmpi, "arith.cmpf": _cmpf, **{name: _plain(rule) for name, rule in _PLAIN.items()},
    **{name: _on_unsigned(rule) for name, rule in _UNSIGNED.items()},
}  # fmt: skip
"""Each is given the operation's `detail` and its operands; the result gets the dtype that the module says."""
