"""`vector` and the pure operations of `tpu`: shapes, reductions, products, and moving elements about."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tutor.judge.mosaic.machine import Machine
from tutor.judge.mosaic.reading import Op
from tutor.judge.mosaic.table import operation
from tutor.judge.mosaic.types import Array, Unknown

FLOPS_A_UNIT = 60_000


@operation("vector.shape_cast", "tpu.reshape")
def _reshape(op: Op, machine: Machine) -> Callable[..., Any]:
    shape = op.types[0].shape
    return lambda value: value.reshape(shape)


@operation("vector.broadcast")
def _broadcast(op: Op, machine: Machine) -> Callable[..., Any]:
    shape = op.types[0].shape
    return lambda value: np.broadcast_to(value, shape)


@operation("vector.extract", knows=("static_position",))
def _extract(op: Op, machine: Machine) -> Callable[..., Any]:
    position = tuple(op.attributes["static_position"])
    if any(place < 0 for place in position):
        raise Unknown("vector.extract at a place that is computed")
    return lambda value, *dynamic: value[position]


@operation("vector.extract_strided_slice", knows=("offsets", "sizes", "strides"))
def _slice(op: Op, machine: Machine) -> Callable[..., Any]:
    starts, sizes, strides = (op.attributes[name] for name in ("offsets", "sizes", "strides"))
    parts = tuple(slice(a, a + (n - 1) * s + 1, s) for a, n, s in zip(starts, sizes, strides, strict=True))
    return lambda value: value[parts]


@operation("tpu.iota", knows=("dimensions",))
def _iota(op: Op, machine: Machine) -> Callable[..., Any]:
    """Along several dimensions it counts through them as if they were one."""
    (type_,), along = op.types, op.attributes["dimensions"]
    lengths = [type_.shape[axis] for axis in along]
    axes = sorted(range(len(along)), key=lambda i: along[i])
    shape = [n if axis in along else 1 for axis, n in enumerate(type_.shape)]

    def run() -> Array:
        counted = np.arange(math.prod(lengths), dtype=type_.dtype).reshape(lengths)
        return np.broadcast_to(counted.transpose(axes).reshape(shape), type_.shape)

    return run


@operation("tpu.transpose", "vector.transpose", knows=("permutation",))
def _transpose(op: Op, machine: Machine) -> Callable[..., Any]:
    permutation = op.attributes["permutation"]
    return lambda value: value.transpose(permutation)


@operation("tpu.concatenate", knows=("dimension",))
def _concatenate(op: Op, machine: Machine) -> Callable[..., Any]:
    axis, size = op.attributes["dimension"], op.types[0].size

    def run(*values: Array) -> Array:
        if sum(value.size for value in values) != size:
            raise Unknown("tpu.concatenate of other sizes")
        return np.concatenate(values, axis=axis)

    return run


@operation("tpu.repeat", knows=("dimension", "times"))
def _repeat(op: Op, machine: Machine) -> Callable[..., Any]:
    axis, times, size = op.attributes["dimension"], op.attributes["times"], op.types[0].size

    def run(value: Array) -> Array:
        if times < 1 or value.size * times != size:
            raise Unknown("tpu.repeat of other sizes")
        return np.concatenate([value] * times, axis=axis)

    return run


@operation("tpu.rotate", "tpu.dynamic_rotate", knows=("amount", "dimension", "stride", "stride_dimension"))
def _rotate(op: Op, machine: Machine) -> Callable[..., Any]:
    axis, amount = op.attributes["dimension"], op.attributes.get("amount", 0)
    if op.attributes.get("stride") is not None:
        raise Unknown(f"{op.name} with a stride")
    return lambda value, *dynamic: np.roll(value, int(dynamic[0] if dynamic else amount), axis=axis)


@operation("tpu.dynamic_gather", knows=("dimensions",))
def _gather(op: Op, machine: Machine) -> Callable[..., Any]:
    dimensions = op.attributes["dimensions"]
    if not isinstance(dimensions, list) or len(dimensions) != 1:
        raise Unknown("tpu.dynamic_gather along several dimensions")
    (axis,) = dimensions

    def run(value: Array, indices: Array) -> Array:
        return np.take_along_axis(value, indices % value.shape[axis], axis=axis)

    return run


@operation("tpu.bitcast", "vector.bitcast")
def _bitcast(op: Op, machine: Machine) -> Callable[..., Any]:
    """Between widths the elements of neighbouring rows share a word, the upper row in the low bits."""
    (type_,) = op.types

    def run(value: Array) -> Array:
        old, new = value.dtype.itemsize, type_.dtype.itemsize
        value = np.ascontiguousarray(value)
        if old == new:
            return value.view(type_.dtype)
        if op.name != "tpu.bitcast" or value.ndim < 2:
            raise Unknown(f"{op.name} between widths")
        *outer, rows, columns = value.shape
        if old < new:
            packed = value.reshape(*outer, rows * old // new, new // old, columns).swapaxes(-1, -2)
            return np.ascontiguousarray(packed).view(type_.dtype)[..., 0]
        split = value.reshape(*outer, rows, columns, 1).view(type_.dtype).swapaxes(-1, -2)
        return split.reshape(*outer, rows * old // new, columns)

    return run


# ---------------------------------------------------------------- many to one

_REDUCED: dict[str, Any] = {
    "add": np.add, "mul": np.multiply, "maximumf": np.maximum, "maxsi": np.maximum, "minimumf": np.minimum,
    "minsi": np.minimum, "maxnumf": np.fmax, "minnumf": np.fmin, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}  # fmt: skip


def _kind(op: Op) -> str:
    found = re.search(r"<(\w+)>", str(op.attributes["kind"]))
    return found[1] if found else ""


@operation("vector.multi_reduction", knows=("kind", "reduction_dims"))
def _reduce(op: Op, machine: Machine) -> Callable[..., Any]:
    combine, axes = _REDUCED.get(_kind(op)), tuple(op.attributes["reduction_dims"])
    if combine is None:
        raise Unknown(f"{op.name} of {_kind(op)[:40]}")

    def run(value: Array, first: Any) -> Any:
        machine.spend_elements(value.size)
        wide = np.dtype(np.float32) if value.dtype.kind == "V" else value.dtype  # V: a float that is not NumPy's own
        summed = combine.reduce(value.astype(wide), axis=axes, dtype=wide)
        return combine(summed.astype(value.dtype), first)

    return run


@operation("tpu.reduce_index", knows=("axis", "kind"))
def _reduce_index(op: Op, machine: Machine) -> Callable[..., Any]:
    axis, kind, dtype = op.attributes["axis"], _kind(op), op.types[0].dtype
    if kind not in ("arg_max", "arg_min"):
        raise Unknown(f"{op.name} of {kind[:40]}")
    find = np.argmax if kind == "arg_max" else np.argmin

    def run(value: Array) -> Any:
        machine.spend_elements(value.size)
        return find(value.astype(np.float32) if value.dtype.kind == "V" else value, axis=axis).astype(dtype)

    return run


_LISTS = re.compile(r"\[([\d, ]*)\]")


@operation(
    "tpu.matmul", knows=("dimension_numbers", "transpose_lhs", "transpose_lhs_hint", "transpose_rhs", "precision")
)
def _matmul(op: Op, machine: Machine) -> Callable[..., Any]:
    """A product: factors as they are, summed in float32 (integers exactly) and added to the third operand.

    A TPU rounds float32 factors unless the highest precision is asked for; interpret mode and this do not."""
    numbers = _LISTS.findall(str(op.attributes.get("dimension_numbers", "")))
    if op.attributes["transpose_lhs"] or op.attributes["transpose_rhs"] or len(numbers) < 5:
        raise Unknown("tpu.matmul without dimension numbers")
    left, right, left_kept, right_kept, order = (_whole(text) for text in numbers[:5])
    batch, right_batch = (_whole(numbers[5]), _whole(numbers[6])) if len(numbers) > 6 else ((), ())
    if len(left) != 1 or len(right) != 1 or len(batch) != len(right_batch):
        raise Unknown("tpu.matmul over several dimensions")
    dtype = op.types[0].dtype
    natural = [*((0, axis) for axis in (*batch, *left_kept)), *((1, axis) for axis in right_kept)]
    permutation = [natural.index(pair) for pair in zip(order[::2], order[1::2], strict=True)]

    def run(a: Array, b: Array, first: Array) -> Array:
        machine.spend(2 * first.size * a.shape[left[0]] / FLOPS_A_UNIT)
        machine.spend_elements(a.size + b.size)
        wide = np.float32 if dtype.kind in "fV" else np.float64
        a = a.transpose(*batch, *left_kept, *left).astype(wide)
        b = b.transpose(*right_batch, *right, *right_kept).astype(wide)
        kept = a.shape[len(batch) : -1], b.shape[len(batch) + 1 :]
        outer = a.shape[: len(batch)]
        a = a.reshape(*outer, -1, a.shape[-1])
        b = b.reshape(*outer, a.shape[-1], -1)
        product: Array = np.matmul(a, b).reshape(*outer, *kept[0], *kept[1]).transpose(permutation)
        exact = product.astype(np.int64) if dtype.kind == "i" else product
        summed: Array = np.add(exact.astype(dtype), first)
        return summed

    return run


def _whole(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in text.split(",") if n.strip())
