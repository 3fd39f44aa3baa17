"""Tracing an entry to a jaxpr, on abstract shapes, for the target chip. No backend is started."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import msgspec

from tutor.findings import finding
from tutor.jaxpr import compat
from tutor.protocol import CaseSpec, Finding
from tutor.stage.explain.jail import refused_by_jail
from tutor.stage.explain.safely import safely
from tutor.stage.explain.tracing import explain_trace
from tutor.workers.arrays import dtype_named


@dataclass(frozen=True)
class Trace:
    """One case, traced. `jaxpr` is closed over nothing: its inputs are the case's inputs, in order."""

    case: CaseSpec
    jaxpr: compat.Jaxpr
    arguments: tuple[jax.ShapeDtypeStruct, ...]
    chip: str = "v5e"


class CannotTrace(Exception):
    """The entry did not trace; `finding` says why."""

    def __init__(self, problem: Finding) -> None:
        super().__init__(problem.message)
        self.finding = problem


def trace(entry: Callable[..., Any], case: CaseSpec, text: str, path: str, chip: str = "v5e") -> Trace:
    """Trace `entry` for `chip` on the shapes and dtypes of `case`. `CannotTrace` if it raises or has other outputs."""
    arguments = tuple(jax.ShapeDtypeStruct(tuple(spec.shape), dtype_named(spec.dtype)) for spec in case.inputs)
    try:
        with compat.target_chip(chip):
            jaxpr, outputs = jax.make_jaxpr(functools.partial(entry, **case.static), return_shape=True)(*arguments)
        other = _other_outputs(jax.tree.leaves(outputs), case)  # a container of the attempt's own runs its code here
    except MemoryError:
        raise
    except BaseException as error:  # SystemExit is the attempt's too
        problem = error
        explained = safely(
            lambda: refused_by_jail(problem, path) or explain_trace(problem, text, path), problem, "KT110"
        )
        raise CannotTrace(_with_case(explained, case)) from None
    if other:
        raise CannotTrace(other)
    return Trace(case, jaxpr, arguments, chip)


def _with_case(problem: Finding, case: CaseSpec) -> Finding:
    return msgspec.structs.replace(problem, case=case.name)


def _other_outputs(outputs: list[Any], case: CaseSpec) -> Finding | None:
    got = [_named(tuple(leaf.shape), str(leaf.dtype)) for leaf in outputs if hasattr(leaf, "shape")]
    want = [_named(tuple(spec.shape), spec.dtype) for spec in case.outputs]
    if got == want or not case.outputs:
        return None
    message = (
        f"In case {case.name} the function returns {', '.join(got) or 'nothing'}; "
        f"the exercise asks for {', '.join(want)}."
    )
    hint = "Look at out_shape: it decides the shape and dtype of the result."
    return finding("KT119", message, case=case.name, hint=hint)


def _named(shape: tuple[int, ...], dtype: str) -> str:
    return f"{dtype}[{','.join(map(str, shape))}]"
