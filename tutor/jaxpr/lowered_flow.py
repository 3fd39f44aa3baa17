"""How arrays flow round the kernels of a TPU artifact: which input of the program reaches which operand, which kernel
makes which output, and what the small integer arrays hold that kernels get.

The like of `jaxpr/outside.py`, on StableHLO and on the trusted side. Functions are followed at each call, so a kernel
that is lowered once and called twice stands here twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tutor.jaxpr.compat import ir

type Array = np.ndarray[Any, Any]

LARGEST = 1 << 20
"""Arrays with more elements than this are not worked out."""
FRESH = "fresh"
_LAYOUT = frozenset({
    "stablehlo.reshape", "stablehlo.transpose", "stablehlo.broadcast_in_dim", "stablehlo.convert",
    "stablehlo.bitcast_convert", "stablehlo.reduce_precision", "stablehlo.optimization_barrier",
    "sdy.sharding_constraint",
})  # fmt: skip

type Source = int | str | tuple[int, int] | None
"""Where an array comes from, through layout and dtype changes only: an input of the program (by position), `fresh` if
no input has a part in it, result (call, number) of a kernel; None where that cannot be told."""


@dataclass(frozen=True)
class Call:
    """One call of a kernel. `sources` and `values` belong to its operands; a value is None where it is not known.

    `operands` and `results` are (shape, dtype), dtypes as MLIR writes them. `aliases` pairs operands with results."""

    operation: Any
    sources: tuple[Source, ...]
    values: tuple[Array | None, ...]
    operands: tuple[tuple[tuple[int, ...], str], ...]
    results: tuple[tuple[tuple[int, ...], str], ...]
    aliases: frozenset[tuple[int, int]]


@dataclass(frozen=True)
class Flow:
    """All calls of kernels in program order, and where the outputs of the program come from."""

    calls: list[Call]
    outputs: list[Source]


def read_flow(module: Any, kept: tuple[int, ...], inputs: Mapping[int, Array]) -> Flow:
    """Follow the arrays of a parsed StableHLO module. `kept[i]` is the position of the program's input that argument i
    of the module is; `inputs` are the contents of those that are known, by that position."""
    functions = {ir.StringAttr(f.operation.attributes["sym_name"]).value: f.operation for f in module.body
                 if f.operation.name == "func.func"}  # fmt: skip
    reader = _Reader(functions)
    main = functions["main"].regions[0].blocks[0]
    for argument, position in zip(main.arguments, kept, strict=True):
        reader.sources[argument] = position
        if position in inputs:
            reader.values[argument] = _as_typed(inputs[position], argument.type)
    outputs = reader.block(main)
    return Flow(reader.calls, [reader.sources.get(value) for value in outputs])


class _Reader:
    def __init__(self, functions: Mapping[str, Any]) -> None:
        self.functions = functions
        self.sources: dict[Any, Source] = {}
        self.values: dict[Any, Array | None] = {}
        self.calls: list[Call] = []

    def block(self, block: Any) -> list[Any]:
        """Follow a block whose arguments are known; the values that it gives back."""
        last: list[Any] = []
        for op in block.operations:
            self.operation(op.operation)
            last = list(op.operation.operands)
        return last

    def operation(self, op: Any) -> None:
        operands, results = list(op.operands), list(op.results)
        match op.name:
            case "func.call":
                callee = self.functions[ir.FlatSymbolRefAttr(op.attributes["callee"]).value].regions[0].blocks[0]
                self.same(callee.arguments, operands)
                self.same(results, self.block(callee))
                return
            case "stablehlo.custom_call" if _is_kernel(op):
                number = len(self.calls)
                self.calls.append(self.call(op))
                self.sources.update({result: (number, i) for i, result in enumerate(results)})
                return
        for region in op.regions:  # branches, loops, parts of a mesh: what they are given and give back is not followed
            for block in region.blocks:
                for argument in block.arguments:
                    self.sources.pop(argument, None)
                    self.values.pop(argument, None)
                self.block(block)
        given = [self.sources.get(value) for value in operands]
        if not op.regions and all(source == FRESH for source in given):
            self.sources.update(dict.fromkeys(results, FRESH))
        elif op.name in _LAYOUT and len(operands) == len(results):
            self.sources.update(zip(results, given, strict=True))
        else:
            self.sources.update(dict.fromkeys(results))
        self.values.update(dict.fromkeys(results))
        if len(results) == 1:
            self.values[results[0]] = _value(op, [self.values.get(value) for value in operands])

    def same(self, new: Any, old: list[Any]) -> None:
        for inner, outer in zip(new, old, strict=True):
            self.sources[inner] = self.sources.get(outer)
            self.values[inner] = self.values.get(outer)

    def call(self, op: Any) -> Call:
        operands = list(op.operands)
        return Call(
            op,
            tuple(self.sources.get(value) for value in operands),
            tuple(self.values.get(value) for value in operands),
            tuple(_typed(value.type) for value in operands),
            tuple(_typed(value.type) for value in op.results),
            frozenset(_aliases(op)),
        )


def _is_kernel(op: Any) -> bool:
    return str(ir.StringAttr(op.attributes["call_target_name"]).value) == "tpu_custom_call"


def _typed(type_: Any) -> tuple[tuple[int, ...], str]:
    return tuple(map(int, type_.shape)), str(type_.element_type)


def _aliases(op: Any) -> Iterator[tuple[int, int]]:
    """Each stands as `output_tuple_indices = [0], operand_index = 1, …`; for a single result the first is empty."""
    named = "output_operand_aliases"
    for alias in op.attributes[named] if named in op.attributes else ():  # noqa: SIM401 (MLIR's map has no `get`)
        text = str(alias)
        output = text.partition("output_tuple_indices = [")[2].partition("]")[0]
        operand = text.partition("operand_index = ")[2]
        digits = operand[: next((i for i, c in enumerate(operand) if not c.isdigit()), len(operand))]
        yield int(digits), int(output or 0)


# ---------------------------------------------------------------- small integer arrays


def _value(op: Any, operands: list[Array | None]) -> Array | None:
    """What the only result of an operation holds, if that is a small array and follows from what is known."""
    type_ = op.results[0].type
    rule = _RULES.get(op.name.removeprefix("stablehlo."))
    known = [operand for operand in operands if operand is not None]
    if rule is None or len(known) < len(operands) or not isinstance(type_, ir.RankedTensorType):
        return None
    shape, dtype = tuple(map(int, type_.shape)), _dtype(type_)
    if dtype is None or np.prod(shape, dtype=float) > LARGEST:
        return None
    with np.errstate(all="ignore"):
        value = rule(op, shape, *known)
    return None if value is None else np.asarray(value).astype(dtype).reshape(shape)


def _dtype(type_: Any) -> Any:
    """NumPy's dtype of an array of integers or truth values."""
    text = str(type_.element_type)
    if text == "i1":
        return np.bool_
    kind = text.rstrip("0123456789")
    return np.dtype(f"{'uint' if kind == 'ui' else 'int'}{text[len(kind) :]}") if kind in ("i", "ui") else None


def _as_typed(array: Array, type_: Any) -> Array | None:
    dtype = _dtype(type_)
    fits = dtype is not None and array.dtype.kind in "iub" and array.shape == tuple(type_.shape)
    return array.astype(dtype) if fits else None


def _constant(op: Any, shape: tuple[int, ...]) -> Array | None:
    value = op.attributes["value"]
    if not isinstance(value, ir.DenseIntElementsAttr):
        return None
    if value.is_splat:
        return np.full(shape, ir.IntegerAttr(value.get_splat_value()).value)
    return np.array([int(n) for n in value])


def _ints(op: Any, name: str) -> tuple[int, ...]:
    return tuple(int(n) for n in ir.DenseI64ArrayAttr(op.attributes[name]))


def _int(op: Any, name: str) -> int:
    return int(ir.IntegerAttr(op.attributes[name]).value)


def _broadcast(op: Any, shape: tuple[int, ...], x: Array) -> Array:
    at = [1] * len(shape)
    for size, dim in zip(x.shape, _ints(op, "broadcast_dimensions"), strict=True):
        at[dim] = size
    return np.broadcast_to(x.reshape(at), shape)


def _iota(op: Any, shape: tuple[int, ...]) -> Array:
    along = [1] * len(shape)
    dim = _int(op, "iota_dimension")
    along[dim] = shape[dim]
    return np.broadcast_to(np.arange(shape[dim]).reshape(along), shape)


def _slice(op: Any, shape: tuple[int, ...], x: Array) -> Array:
    return x[tuple(map(slice, *(_ints(op, name) for name in ("start_indices", "limit_indices", "strides"))))]


_COMPARED = {"EQ": np.equal, "NE": np.not_equal, "LT": np.less, "LE": np.less_equal, "GT": np.greater,
             "GE": np.greater_equal}  # fmt: skip


def _compare(op: Any, shape: tuple[int, ...], a: Array, b: Array) -> Any:
    words = str(op.attributes["comparison_direction"])
    return next((rule(a, b) for name, rule in _COMPARED.items() if name in words.rpartition(" ")[2]), None)


def _divide(op: Any, shape: tuple[int, ...], a: Array, b: Array) -> Array | None:
    return None if (b == 0).any() else (np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b)))


def _remainder(op: Any, shape: tuple[int, ...], a: Array, b: Array) -> Array | None:
    return None if (b == 0).any() else np.fmod(a, b)


_SUMMED: dict[str, Any] = {"stablehlo.add": np.add, "stablehlo.maximum": np.maximum, "stablehlo.minimum": np.minimum}


def _summed(op: Any) -> Any:
    """The function by which a reduction joins two elements, if it is one operation."""
    first, *more = op.regions[0].blocks[0].operations
    return _SUMMED.get(first.operation.name) if len(more) == 1 else None


def _reduce(op: Any, shape: tuple[int, ...], x: Array, start: Array) -> Array | None:
    rule = _summed(op)
    return None if rule is None else rule(rule.reduce(x, axis=_ints(op, "dimensions"), initial=None), start)


def _running(op: Any, shape: tuple[int, ...], x: Array, start: Array) -> Array | None:
    """A running sum along one axis; no other window over a table is known."""
    rule, axes = _summed(op), [axis for axis, size in enumerate(_ints(op, "window_dimensions")) if size > 1]
    padding = ir.DenseIntElementsAttr(op.attributes["padding"])
    if rule is None or len(axes) != 1 or x.shape != shape or _ints(op, "window_dimensions")[axes[0]] != shape[axes[0]]:
        return None
    before, after = (int(n) for n in list(padding)[2 * axes[0] : 2 * axes[0] + 2])
    if sorted((before, after)) != [0, shape[axes[0]] - 1]:
        return None
    turned = np.flip(rule.accumulate(np.flip(x, axes[0]), axes[0]), axes[0])
    return np.asarray(rule(rule.accumulate(x, axes[0]) if before else turned, start))


def _plain(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda op, shape, *operands: rule(*operands)


def _same(x: Array) -> Array:
    return x


_ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "reshape": _same, "convert": _same, "optimization_barrier": _same, "add": np.add, "subtract": np.subtract,
    "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum, "abs": np.abs, "negate": np.negative,
    "sign": np.sign, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert,
    "select": np.where, "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
}  # fmt: skip
_RULES: dict[str, Callable[..., Any]] = {
    "constant": _constant, "iota": _iota, "broadcast_in_dim": _broadcast, "slice": _slice, "compare": _compare,
    "transpose": lambda op, shape, x: x.transpose(_ints(op, "permutation")),
    "concatenate": lambda op, shape, *xs: np.concatenate(xs, _int(op, "dimension")),
    "divide": _divide, "remainder": _remainder, "reduce": _reduce, "reduce_window": _running,
    **{name: _plain(rule) for name, rule in _ELEMENTWISE.items()},
}  # fmt: skip
