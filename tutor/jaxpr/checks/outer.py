"""The program around the kernels: which tables reach a kernel unchanged, and what becomes of a kernel's outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from tutor.jaxpr.compat import Constant, Jaxpr, JaxprEqn, Var, closed
from tutor.jaxpr.equations import Atom, bodies
from tutor.jaxpr.flow import Flow, Use
from tutor.jaxpr.kernels import KERNEL_PRIMITIVES
from tutor.jaxpr.scalars import Array

type Fate = Literal["whole", "part", "unused"]
"""What the program does with an array: every element can reach its result, only some may, or none does."""

KEEPS_ALL = frozenset({
    "reshape", "squeeze", "expand_dims", "transpose", "convert_element_type", "copy", "copy_p", "broadcast_in_dim",
    "rev", "add", "sub", "mul", "div", "neg", "max", "min", "exp", "log", "tanh", "sqrt", "rsqrt", "integer_pow",
    "square",
    "reduce_precision", "stop_gradient", "bitcast_convert_type", "optimization_barrier", "sharding_constraint",
})  # fmt: skip
"""Operations that hand every element on. A slice, a gather or a `where` may drop the ones that are wrong."""


def fate(flow: Flow, var: Var) -> Fate:
    """What becomes of a kernel's output."""
    uses = list(flow.forward(var, lambda use: use.eqn is not None and use.eqn.primitive.name in KEEPS_ALL))
    if any(use.eqn is None for use in uses):
        return "whole"
    return "part" if any(_leaves(use) for use in uses) else "unused"


def _leaves(use: Use) -> bool:
    return use.eqn is not None and use.eqn.primitive.name not in KEEPS_ALL


class Called(NamedTuple):
    """A kernel equation, the equations whose bodies it is in (outermost first), and its operands where known."""

    eqn: JaxprEqn
    around: tuple[JaxprEqn, ...]
    operands: tuple[Array | None, ...]


def known_operands(
    jaxpr: Jaxpr, values: Mapping[int, Array], constants: Mapping[Var, Array] | None = None
) -> Iterator[Called]:
    """Every kernel equation with the arrays that its operands are known to be.

    `values` are concrete entry arguments by flat position. Layout and dtype changes are followed, nothing else is."""
    jaxpr = closed(jaxpr)
    env: dict[Var, Array] = dict(constants or {})
    env.update({v: np.asarray(c) for v, c in zip(jaxpr.constvars, jaxpr.consts, strict=True) if _is_array(c)})
    env.update({jaxpr.invars[i]: np.asarray(a) for i, a in values.items() if i < len(jaxpr.invars)})
    yield from _known(jaxpr, env, ())


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or type(value).__name__ == "ArrayImpl"


def _known(jaxpr: Jaxpr, env: dict[Var, Array], around: tuple[JaxprEqn, ...]) -> Iterator[Called]:
    def read(atom: Atom) -> Array | None:
        return np.asarray(atom.val) if isinstance(atom, Constant) else env.get(atom)

    for eqn in jaxpr.eqns:
        operands = tuple(read(v) for v in eqn.invars)
        if eqn.primitive.name in KERNEL_PRIMITIVES:
            yield Called(eqn, around, operands)
            continue
        for body in bodies(eqn):
            inner = {v: a for v, o in body.outer.items() if (a := read(o)) is not None and a.shape == v.aval.shape}
            constants = zip(body.jaxpr.constvars, body.jaxpr.consts, strict=True)
            inner.update({v: np.asarray(c) for v, c in constants if _is_array(c)})
            yield from _known(body.jaxpr, inner, (*around, eqn))
            if body.role == "call":
                outs = zip(eqn.outvars, body.jaxpr.outvars, strict=False)
                env.update({o: inner[v] for o, v in outs if isinstance(v, Var) and v in inner})
        moved = _moved(eqn, operands)
        if moved is not None:
            env[eqn.outvars[0]] = moved


def _moved(eqn: JaxprEqn, operands: tuple[Array | None, ...]) -> Array | None:
    """A small integer array after a layout or dtype change."""
    (first, *_) = operands or (None,)
    if first is None or len(eqn.outvars) != 1 or eqn.primitive.name not in LAYOUT:
        return None
    aval, params = eqn.outvars[0].aval, eqn.params
    if eqn.primitive.name == "transpose":
        return np.transpose(first, params["permutation"])
    if eqn.primitive.name == "broadcast_in_dim":
        shape = [1] * len(params["shape"])
        for size, dim in zip(first.shape, params["broadcast_dimensions"], strict=True):
            shape[dim] = size
        return np.broadcast_to(first.reshape(shape), params["shape"])
    return first.reshape(aval.shape).astype(aval.dtype)


LAYOUT = frozenset({
    "reshape", "squeeze", "expand_dims", "transpose", "convert_element_type", "copy", "copy_p", "broadcast_in_dim",
})  # fmt: skip
