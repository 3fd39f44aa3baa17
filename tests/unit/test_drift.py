"""What the cases say together: an error that grows as rounding does, and one that only looks like it."""

from __future__ import annotations

import pytest

from tutor.findings import finding
from tutor.ladder.across import across_cases
from tutor.protocol import CaseError, CaseResult, CaseSpec, Finding

SIZES = (128, 1024, 8192)


def said(errors: tuple[float, ...], bound: float = 4e-3) -> list[str]:
    specs = [CaseSpec(name=f"k{k}", inputs=[], outputs=[], static={}, sizes={"k": k}) for k in SIZES]
    cases = [
        CaseResult(spec.name, "failed" if error > bound else "passed", CaseError(error, error))
        for spec, error in zip(specs, errors, strict=True)
    ]
    findings: list[Finding] = [finding("KT201", "wrong", case=c.name) for c in cases if c.status == "failed"]
    return [found.code for found in across_cases(cases, findings, specs)]


def test_rounding_that_adds_up() -> None:
    assert said((1.7e-3, 4.5e-3, 2e-2)) == ["KT214"]


@pytest.mark.parametrize(
    "errors",
    [
        (1e-8, 5e-3, 9e-3),  # right up to a rounding, then a mistake that one block does not show
        (1e-8, 1e-8, 1e-2),
    ],
)
def test_a_mistake_that_small_sizes_hide_is_no_drift(errors: tuple[float, ...]) -> None:
    assert said(errors)[0] == "KT203"


def test_nothing_is_said_of_right_cases() -> None:
    assert said((1e-3, 2e-3, 3e-3)) == []


def test_an_error_of_all_digits_is_no_drift() -> None:
    assert said((0.5, 0.8, 1.2)) == ["KT201"] * 3
