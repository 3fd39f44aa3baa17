"""Small integer arrays outside the kernels, worked out with NumPy: what a scalar-prefetch operand will hold.

A kernel's index maps often read a table that the program makes from an input by a cast, a reshape or a running sum.
Whatever is not in the table of rules is unknown. Nothing starts a JAX backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tutor.jaxpr.compat import JaxprEqn
from tutor.jaxpr.scalars import RULES as ELEMENTWISE

type Array = np.ndarray[Any, Any]

LARGEST = 1 << 20
"""Arrays with more elements than this are not worked out."""


def array_value(eqn: JaxprEqn, operands: Sequence[Array | None]) -> Array | None:
    """The value of the only output of `eqn`, if its operands are known and its primitive is one of a few."""
    name = eqn.primitive.name
    aval = eqn.outvars[0].aval
    shape = tuple(getattr(aval, "shape", ()))
    if any(o is None for o in operands) or np.prod(shape, dtype=float) > LARGEST or not _plain(aval):
        return None
    rule = RULES.get(name)
    with np.errstate(all="ignore"):
        if rule is not None:
            out = rule(*operands, **eqn.params)
        elif name in ELEMENTWISE and name not in RULES and name != "integer_pow":
            out = ELEMENTWISE[name](*operands)
        else:
            return None
    return np.asarray(out, dtype=aval.dtype).reshape(shape) if np.size(out) == np.prod(shape) else None


def _plain(aval: Any) -> bool:
    try:
        return np.dtype(aval.dtype).kind in "iubf"
    except (AttributeError, TypeError):
        return False


def _broadcast(x: Array, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...], **_: Any) -> Array:
    at = [1] * len(shape)
    for size, dim in zip(x.shape, broadcast_dimensions, strict=True):
        at[dim] = size
    return np.broadcast_to(x.reshape(at), shape)


def _iota(*, dtype: Any, shape: tuple[int, ...], dimension: int, **_: Any) -> Array:
    along = [-1 if i == dimension else 1 for i in range(len(shape))]
    return np.broadcast_to(np.arange(shape[dimension], dtype=dtype).reshape(along), shape)


def _slice(x: Array, *, start_indices: Any, limit_indices: Any, strides: Any, **_: Any) -> Array:
    return x[tuple(map(slice, start_indices, limit_indices, strides or (None,) * x.ndim))]


def _cumsum(x: Array, *, axis: int, reverse: bool = False, **_: Any) -> Array:
    return np.flip(np.cumsum(np.flip(x, axis), axis), axis) if reverse else np.cumsum(x, axis)


def _same(x: Array, **_: Any) -> Array:
    return x


RULES: dict[str, Callable[..., Array]] = {
    "reshape": _same, "squeeze": _same, "expand_dims": _same, "copy": _same, "copy_p": _same, "stop_gradient": _same,
    "convert_element_type": lambda x, *, new_dtype, **_: x.astype(new_dtype),
    "transpose": lambda x, *, permutation, **_: x.transpose(permutation),
    "concatenate": lambda *xs, dimension, **_: np.concatenate(xs, dimension),
    "reduce_sum": lambda x, *, axes, **_: x.sum(axis=tuple(axes)),
    "reduce_max": lambda x, *, axes, **_: x.max(axis=tuple(axes)),
    "broadcast_in_dim": _broadcast, "iota": _iota, "slice": _slice, "cumsum": _cumsum,
}  # fmt: skip
