"""Ablation: does the result really come from the kernel?

What is left of the TPU artifact without its kernels is run on the CPU, with a constant for every kernel's result. With
another constant every output must change, else the kernel's work is thrown away. With other inputs nothing may change,
else something beside the kernel computes with them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tutor.findings import finding
from tutor.judge.mosaic.program import Program
from tutor.protocol import CaseSpec, Finding
from tutor.workers.arrays import Array


class CannotAblate(Exception):
    """What is left without the kernels does not run on a CPU; `str()` says why."""


def ablate(
    program: Program, case: CaseSpec, inputs: Sequence[Array], others: Sequence[Array], *, outside: bool = False
) -> list[Finding]:
    """Findings for one TPU artifact (`KT380`, `KT381`), given two different sets of inputs in call order.

    `outside`: something may compute beside the kernel, so what is left may depend on the inputs.

    Raises CannotAblate where the rest of the program needs a TPU."""
    try:
        ones, elsewhere, twos = (
            program.with_results(given, program.filled(value))[0]
            for given, value in ((inputs, 1), (others, 1), (inputs, 2))
        )
    except Exception as error:
        raise CannotAblate(f"{type(error).__name__}: {error}") from error
    findings = []
    for name, one, two in zip(_names(case, len(ones)), ones, twos, strict=True):
        if one.size and np.array_equal(one, two, equal_nan=one.dtype.kind == "f"):
            message = (
                f"{name} stays the same whatever the kernel returns: the kernel's result is thrown away, multiplied "
                "by zero, or not used at all."
            )
            findings.append(finding("KT380", message, case=case.name, hint="Return what the kernel computed."))
    for name, one, other in () if outside else zip(_names(case, len(ones)), ones, elsewhere, strict=True):
        if not np.array_equal(one, other, equal_nan=one.dtype.kind == "f"):
            message = (
                f"With the kernel's result held fixed, {name} still changes with the inputs: something outside the "
                "kernel computes with them."
            )
            hint = "Move that work into the kernel; outside it only layout and dtype may change."
            findings.append(finding("KT381", message, case=case.name, hint=hint))
    return findings


def _names(case: CaseSpec, count: int) -> list[str]:
    named = [spec.name for spec in case.outputs]
    return [*named, *(f"output {number}" for number in range(len(named), count))][:count]
