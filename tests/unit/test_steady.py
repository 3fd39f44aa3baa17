"""What differs from run to run and from machine to machine is taken out of a verdict's texts."""

from __future__ import annotations

import pytest

from tutor.findings import finding
from tutor.ladder.verdict import stage_result, steady


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<object object at 0x7f2d67cffa50>", "<object object at 0x…>"),
        ("<module 'jax' from '/home/ada/.venv/lib/python3.13/site-packages/jax/__init__.py'>",
         "<module 'jax' from '…/site-packages/jax/__init__.py'>"),
        ('File "/opt/dist-packages/a.py", line 3', 'File "…/dist-packages/a.py", line 3'),
        ("bits 0x7f800000 and 0xff", "bits 0x7f800000 and 0xff"),
        ("scale.py, line 3", "scale.py, line 3"),
    ],
)  # fmt: skip
def test_addresses_and_places(text: str, said: str) -> None:
    assert steady(text) == said


def test_findings_are_steady_as_well() -> None:
    found = finding("KT103", "at 0x7f2d67cffa50", raw="at 0x7f2d67cffa51", line=3)
    [kept] = stage_result("load", [found]).findings
    assert (kept.message, kept.raw, kept.line) == ("at 0x…", "at 0x…", 3)
