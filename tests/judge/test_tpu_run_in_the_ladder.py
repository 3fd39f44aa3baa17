"""What the run of the TPU artifact says stands only where the other program's numbers are right."""

import pytest

from tutor.findings import finding
from tutor.ladder.structure import with_right_numbers
from tutor.protocol import CaseResult, StageResult


def interpreted(status: str) -> StageResult:
    return StageResult("interpret", "passed", cases=[CaseResult("c", status)])  # type: ignore[arg-type]


@pytest.mark.parametrize("code", ["KT393", "KT395", "KT396"])
def test_of_a_right_case_it_stands(code: str) -> None:
    found = finding(code, "So it is.", case="c")
    assert with_right_numbers(found, interpreted("passed"))
    assert not with_right_numbers(found, interpreted("failed"))
    assert not with_right_numbers(found, None)
    assert not with_right_numbers(finding(code, "So it is.", case="other"), interpreted("passed"))


def test_other_findings_stand_anyway() -> None:
    assert with_right_numbers(finding("KT390", "So it is.", case="c"), interpreted("failed"))
    assert with_right_numbers(finding("KT394", "So it is.", severity="note", case="c"), None)
