"""What the cases say together: an error that grows, or a property that parts wrong from right."""

import pytest

from tutor.findings import finding
from tutor.ladder.across import across_cases
from tutor.protocol import CaseError, CaseResult, CaseSpec, Finding


def cases(*rows):
    """Rows of (sizes, relative L2 error or None, passed)."""
    specs = [CaseSpec(f"c{i}", [], [], {}, sizes) for i, (sizes, _, _) in enumerate(rows)]
    results = [
        CaseResult(f"c{i}", "passed" if passed else "failed", CaseError(error, None))
        for i, (_, error, passed) in enumerate(rows)
    ]
    found = [finding("KT201", "wrong", case=r.name) for r in results if r.status == "failed"]
    return across_cases(results, found, specs)


def test_nothing_is_added_when_all_is_right():
    assert cases(({"k": 8}, 1e-3, True), ({"k": 4096}, 1e-3, True)) == []


def test_an_error_that_grows_with_a_size():
    found = cases(
        ({"k": 512, "m": 256}, 1.7e-3, True),
        ({"k": 1024, "m": 128}, 3e-3, True),
        ({"k": 4096, "m": 256}, 6.7e-3, False),
    )
    assert [f.code for f in found] == ["KT214"]  # it stands for what each case said
    assert "grows with `k`" in found[0].message
    assert "6.7e-03 at k = 4096" in found[0].message
    assert found[0].case == "c2"


def test_numbers_that_are_simply_wrong_do_not_grow():
    found = cases(({"k": 512}, 0.1, False), ({"k": 4096}, 1.4, False))
    assert [f.code for f in found] == ["KT201", "KT201"]


def test_a_length_that_is_not_a_multiple():
    found = cases(
        ({"m": 128, "bm": 64}, 0.0, True),
        ({"m": 100, "bm": 64}, None, False),
        ({"m": 256, "bm": 128}, 0.0, True),
    )
    assert found[0].code == "KT203"
    assert "`m` is not a multiple of `bm`" in found[0].message


def test_a_threshold_and_a_square():
    found = cases(({"nnz": 4}, 0.0, True), ({"nnz": 1}, 1.0, False))
    assert "`nnz` is 1 or less" in found[0].message
    found = cases(({"m": 64, "n": 64}, 0.0, True), ({"m": 64, "n": 128}, 1.0, False), ({"m": 32, "n": 64}, 1.0, False))
    assert found[0].code == "KT203"
    assert "`m`" in found[0].message


def test_without_a_common_property_only_the_count_is_told():
    found = cases(({"m": 64}, 0.0, True), ({"m": 64}, 1.0, False))
    assert found[0].code == "KT203"
    assert "in common" not in found[0].message


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
