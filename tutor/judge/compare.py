"""The numbers of one case: within tolerance or not, and if not, what the error looks like."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tutor.findings import finding
from tutor.judge.diagnosis import Sheet, diagnose
from tutor.judge.heat import error_map
from tutor.judge.steps import Store
from tutor.judge.tolerance import Array, Measured, bounds_for, measure
from tutor.protocol import CaseError, CaseSpec, Finding, ToleranceSpec

type StepOf = Callable[[int, Sequence[int]], tuple[list[int], list[int]] | None]
"""From (output, element index) to (block index, grid index of the step that wrote it), or None."""


class Comparison(NamedTuple):
    """`error` is that of the first output that is wrong, else of the worst one; `findings` is empty if all are right.

    `share` is the largest part of any bound that was used: 1 is the limit, and `set check` prints the margin to it."""

    error: CaseError
    findings: list[Finding]
    share: float


def compare(
    got: Sequence[Array],
    want: Sequence[Array],
    case: CaseSpec,
    tolerance: ToleranceSpec,
    *,
    step_of: StepOf | None = None,
    simulated: bool = False,
    blocks: Mapping[int, Sequence[int]] | None = None,
    stores: Mapping[int, Store] | None = None,
) -> Comparison:
    """Compare the outputs of a case with the oracle's.

    Bounds come from each output's dtype and `tolerance`; integers and bools are exact. `step_of` says which grid step
    wrote an element, `blocks` gives the block shape of outputs and `stores` where they are written, by position; these
    only make messages better.
    `simulated`: the arrays come from the simulator of TPU memory, where NaN means memory that nothing wrote.

    Raises ValueError if the oracle itself gives outputs of another number or shape than the case says."""
    _check_oracle(want, case)
    refused = _other_outputs(got, want, case)
    if refused is not None:
        return Comparison(CaseError(None, None), [refused], float("inf"))
    worst: tuple[int, Measured] | None = None
    for position, (g, w) in enumerate(zip(got, want, strict=True)):
        measured = measure(g, w, bounds_for(g.dtype, tolerance))
        if not measured.ok:
            block = (blocks or {}).get(position)
            store = (stores or {}).get(position)
            return _wrong(position, measured, case, step_of, simulated, block, store, several=len(want) > 1)
        if worst is None or measured.share > worst[1].share:
            worst = position, measured
    if worst is None:
        return Comparison(CaseError(0.0, 0.0), [], 0.0)
    return Comparison(CaseError(worst[1].relative_l2, worst[1].max_abs), [], worst[1].share)


def _wrong(
    position: int,
    measured: Measured,
    case: CaseSpec,
    step_of: StepOf | None,
    simulated: bool,
    block: Sequence[int] | None,
    store: Store | None,
    *,
    several: bool,
) -> Comparison:
    first = first_bad(measured)
    step = step_of(position, first) if step_of is not None else None
    error = CaseError(
        relative_l2=measured.relative_l2,
        max_abs=measured.max_abs,
        first_bad=list(first),
        block=step[0] if step else None,
        grid_step=step[1] if step else None,
        by_block=error_map(position, measured, block),
    )
    name = case.outputs[position].name if position < len(case.outputs) else f"output {position}"
    shape = tuple(block) if block is not None and len(block) == measured.got.ndim else None
    sheet = Sheet(measured, name, first, shape, step, several=several)
    said = diagnose(sheet, simulated=simulated)
    ref, line, column = store or (None, None, None)
    found = finding(said.code, said.message, hint=said.hint, case=case.name, ref=ref, line=line, column=column)
    return Comparison(error, [found], measured.share)


def first_bad(measured: Measured) -> tuple[int, ...]:
    """The index of the first element outside its bound; of the worst one, if only the norm is too large."""
    if measured.bad.any():
        flat = int(np.argmax(measured.bad))
    else:
        flat = int(np.argmax(np.abs(measured.got - measured.want))) if measured.got.size else 0
    return tuple(int(i) for i in np.unravel_index(flat, measured.got.shape)) if measured.got.size else ()


def _check_oracle(want: Sequence[Array], case: CaseSpec) -> None:
    if case.outputs and len(want) != len(case.outputs):
        raise ValueError(f"the oracle gives {len(want)} outputs for case {case.name}, but it has {len(case.outputs)}")
    for array, spec in zip(want, case.outputs, strict=False):
        if tuple(array.shape) != tuple(spec.shape):
            raise ValueError(f"the oracle gives {spec.name} the shape {array.shape}, but it is {tuple(spec.shape)}")
        if array.dtype.kind in "cOSU":
            raise ValueError(f"the oracle gives {spec.name} the dtype {array.dtype}, which cannot be compared")


def _other_outputs(got: Sequence[Array], want: Sequence[Array], case: CaseSpec) -> Finding | None:
    if len(got) != len(want):
        message = f"The function gives {len(got)} results, but {len(want)} are asked for."
        return finding("KT204", message, case=case.name, hint="Return the outputs in the order of the exercise.")
    for position, (g, w) in enumerate(zip(got, want, strict=True)):
        spec = case.outputs[position] if position < len(case.outputs) else None
        name = f"`{spec.name}`" if spec else "The result"
        if g.shape != w.shape:
            message = f"{name} has shape {g.shape}, but it must have shape {tuple(w.shape)}."
            return finding("KT204", message, case=case.name, hint="`out_shape` decides the shape of the result.")
        if spec is not None and g.dtype.name != spec.dtype:
            message = f"{name} has dtype {g.dtype.name}, but it must have dtype {spec.dtype}."
            return finding("KT204", message, case=case.name, hint="`out_shape` decides the dtype of the result.")
        if g.dtype.kind in "cOSU" or (
            g.dtype.kind == "V" and "float" not in g.dtype.name and "int" not in g.dtype.name
        ):
            return finding("KT204", f"{name} has dtype {g.dtype.name}, which is not a number here.", case=case.name)
    return None
