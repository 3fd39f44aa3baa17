"""`arith` and `math`: numbers and vectors, element by element. Results are rounded to their own dtype at every step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tutor.judge.mosaic.machine import Machine
from tutor.judge.mosaic.reading import Op
from tutor.judge.mosaic.table import operation, pure
from tutor.judge.mosaic.types import Array, Unknown

Value = Any
"""A NumPy scalar or array."""


def _unsigned(value: Value) -> Value:
    return value if value.dtype.kind == "b" else value.view(np.dtype(f"u{value.dtype.itemsize}"))


def _on_bits(compute: Callable[..., Value]) -> Callable[..., Value]:
    """An operation on unsigned numbers: the same bits, read as unsigned."""

    def run(*values: Value) -> Value:
        made = compute(*map(_unsigned, values))
        return made.view(values[0].dtype) if made.dtype.kind == "u" else made

    return run


def _with_bools(numbers: Callable[..., Value], bools: Callable[..., Value]) -> Callable[..., Value]:
    return lambda a, b: bools(a, b) if a.dtype.kind == "b" else numbers(a, b)


def _divide(a: Value, b: Value) -> Value:
    """Integers divided towards zero; by zero it is all ones, as everywhere in XLA."""
    safe = np.where(b == 0, np.ones_like(b), b)
    whole = ((a - np.fmod(a, safe)) // safe).astype(a.dtype)
    return np.where(b == 0, np.full_like(whole, -1), whole)


def _remainder(a: Value, b: Value) -> Value:
    safe = np.where(b == 0, np.ones_like(b), b)
    return np.where(b == 0, a, np.fmod(a, safe)).astype(a.dtype)


def _fmod(a: Value, b: Value) -> Value:
    return np.fmod(_wide(a), _wide(b)).astype(a.dtype)


def _wide(value: Value) -> Value:
    """A float as one that NumPy computes with itself."""
    return value if value.dtype.itemsize >= 4 else value.astype(np.float32)


def _float(compute: Callable[..., Value]) -> Callable[..., Value]:
    """A function of floats, worked out in float32 at least and rounded once."""

    def run(*values: Value) -> Value:
        return compute(*map(_wide, values)).astype(values[0].dtype)

    return run


def _erf(x: Value) -> Value:
    from scipy.special import erf  # type: ignore[import-untyped]  # slow to import, and few kernels use it

    return erf(x)


_COMPUTED: dict[str, Callable[..., Value]] = {
    "arith.addf": np.add, "arith.subf": np.subtract, "arith.mulf": np.multiply, "arith.divf": np.divide,
    "arith.negf": np.negative, "arith.maximumf": np.maximum, "arith.minimumf": np.minimum,
    "arith.maxnumf": np.fmax, "arith.minnumf": np.fmin, "arith.remf": _fmod,
    "arith.addi": _with_bools(np.add, np.logical_xor), "arith.subi": _with_bools(np.subtract, np.logical_xor),
    "arith.muli": _with_bools(np.multiply, np.logical_and),
    "arith.andi": np.bitwise_and, "arith.ori": np.bitwise_or, "arith.xori": np.bitwise_xor,
    "arith.divsi": _divide, "arith.remsi": _remainder,
    "arith.divui": _on_bits(lambda a, b: a // np.where(b == 0, np.ones_like(b), b)),
    "arith.remui": _on_bits(_remainder),
    "arith.maxsi": np.maximum, "arith.minsi": np.minimum,
    "arith.maxui": _on_bits(np.maximum), "arith.minui": _on_bits(np.minimum),
    "arith.shli": np.left_shift, "arith.shrsi": np.right_shift, "arith.shrui": _on_bits(np.right_shift),
    "math.absf": np.abs, "math.absi": np.abs, "math.exp": _float(np.exp), "math.exp2": _float(np.exp2),
    "math.log": _float(np.log), "math.log2": _float(np.log2), "math.log1p": _float(np.log1p),
    "math.expm1": _float(np.expm1), "math.tanh": _float(np.tanh), "math.sqrt": _float(np.sqrt),
    "math.rsqrt": _float(lambda x: 1 / np.sqrt(x)), "math.sin": _float(np.sin), "math.cos": _float(np.cos),
    "math.tan": _float(np.tan), "math.atan2": _float(np.arctan2), "math.powf": _float(np.power),
    "math.floor": _float(np.floor), "math.ceil": _float(np.ceil), "math.roundeven": _float(np.rint),
    "math.round": _float(lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x)), "math.trunc": _float(np.trunc),
    "math.erf": _float(_erf), "math.fma": _float(lambda a, b, c: a * b + c), "math.copysign": _float(np.copysign),
    "tpu.weird": lambda x: ~np.isfinite(x), "tpu.logistic": _float(lambda x: 1 / (1 + np.exp(-x))),
    "math.ctpop": lambda x: np.bitwise_count(_unsigned(x)).astype(x.dtype),
}  # fmt: skip
for _name, _compute in _COMPUTED.items():
    pure(_name, _compute)


@operation("tpu.reciprocal", knows=("approx", "full_range"))
def _reciprocal(op: Op, machine: Machine) -> Callable[..., Value]:
    """An approximate one is given exactly here, and so cannot be worse than on the chip."""
    return _float(lambda x: 1 / x)


@operation("arith.constant", knows=("value",))
def _constant(op: Op, machine: Machine) -> Callable[..., Value]:
    value, (type_,) = op.attributes["value"], op.types
    if isinstance(value, str | list | dict) or (not isinstance(value, np.ndarray) and type_.kind != "scalar"):
        raise Unknown("a constant of its own kind")
    made = value if isinstance(value, np.ndarray) else np.asarray(value).astype(type_.dtype)[()]
    return lambda: made


@operation("arith.select")
def _select(op: Op, machine: Machine) -> Callable[..., Value]:
    def run(condition: Value, yes: Value, no: Value) -> Value:
        if condition.ndim == 0:
            return yes if condition else no
        return np.where(condition, yes, no)

    return run


_COMPARED: tuple[Callable[..., Value], ...] = (
    np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
    _on_bits(np.less), _on_bits(np.less_equal), _on_bits(np.greater), _on_bits(np.greater_equal),
)  # fmt: skip


def _unordered(compare: Callable[..., Value]) -> Callable[..., Value]:
    return lambda a, b: compare(a, b) | np.isnan(a) | np.isnan(b)


_COMPARED_FLOATS: tuple[Callable[..., Value], ...] = (
    lambda a, b: np.zeros_like(a, bool), np.equal, np.greater, np.greater_equal, np.less, np.less_equal,
    np.not_equal, lambda a, b: ~(np.isnan(a) | np.isnan(b)), _unordered(np.equal), _unordered(np.greater),
    _unordered(np.greater_equal), _unordered(np.less), _unordered(np.less_equal), np.not_equal,
    lambda a, b: np.isnan(a) | np.isnan(b), lambda a, b: np.ones_like(a, bool),
)  # fmt: skip
"""In the order of MLIR's numbers. JAX says `!=` with the seventh, which holds of no NaN elsewhere; here of all."""


@operation("arith.cmpi", "arith.cmpf", knows=("predicate",))
def _compare(op: Op, machine: Machine) -> Callable[..., Value]:
    compare = (_COMPARED if op.name == "arith.cmpi" else _COMPARED_FLOATS)[op.attributes["predicate"]]
    return lambda a, b: np.asarray(compare(a, b))[()]


def _to_signed(value: Value, dtype: np.dtype[Any]) -> Value:
    """Floats as integers: towards zero, kept inside the range, and NaN as 0."""
    limits = np.iinfo(dtype)
    wide = np.nan_to_num(np.trunc(value.astype(np.float64)), nan=0.0, posinf=np.inf, neginf=-np.inf)
    return np.clip(wide, limits.min, limits.max).astype(dtype)


def _to_unsigned(value: Value, dtype: np.dtype[Any]) -> Value:
    return _to_signed(value, np.dtype(f"u{dtype.itemsize}")).view(dtype)


def _signs_extended(value: Value, dtype: np.dtype[Any]) -> Value:
    return -value.astype(dtype) if value.dtype.kind == "b" else value.astype(dtype)


_CONVERTED: dict[str, Callable[[Value, np.dtype[Any]], Value]] = {
    "arith.extf": lambda v, dtype: v.astype(dtype), "arith.truncf": lambda v, dtype: v.astype(dtype),
    "tpu.extf": lambda v, dtype: v.astype(dtype),
    "arith.extsi": _signs_extended, "arith.sitofp": _signs_extended, "tpu.sitofp": _signs_extended,
    "arith.extui": lambda v, dtype: _unsigned(v).astype(dtype),
    "arith.uitofp": lambda v, dtype: _unsigned(v).astype(dtype),
    "arith.trunci": lambda v, dtype: (v & v.dtype.type(1)).astype(dtype) if dtype.kind == "b" else v.astype(dtype),
    "arith.fptosi": _to_signed, "arith.fptoui": _to_unsigned,
    "arith.index_cast": lambda v, dtype: v.astype(dtype), "arith.index_castui": lambda v, dtype: v.astype(dtype),
    "arith.bitcast": lambda v, dtype: np.asarray(v).view(dtype)[()],
}  # fmt: skip


@operation(*_CONVERTED)
def _convert(op: Op, machine: Machine) -> Callable[..., Value]:
    convert, dtype = _CONVERTED[op.name], op.types[0].dtype
    return lambda value: convert(value, dtype)


@operation("arith.mulsi_extended", "arith.mului_extended")
def _multiply_whole(op: Op, machine: Machine) -> Callable[..., Value]:
    """The low and the high half of a product."""
    signed = op.name == "arith.mulsi_extended"

    def run(a: Value, b: Value) -> tuple[Array, Array]:
        if a.dtype.itemsize > 4:
            raise Unknown(f"{op.name} of 64 bits")
        wide = np.int64 if signed else np.uint64
        product = (a if signed else _unsigned(a)).astype(wide) * (b if signed else _unsigned(b)).astype(wide)
        return product.astype(a.dtype), (product >> wide(8 * a.dtype.itemsize)).astype(a.dtype)

    return run
