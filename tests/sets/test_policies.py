"""When a solution may be seen, and whether a version is in a range."""

from __future__ import annotations

import datetime

import pytest

from tutor.sets.manifest import Reveal
from tutor.sets.reveal import why_hidden
from tutor.sets.versions import in_range

NOON = datetime.datetime(2030, 1, 31, 12, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("reveal", "solved", "tries", "shown"),
    [
        (Reveal(), False, 9, False),
        (Reveal(), True, 1, True),
        (Reveal(when="never"), True, 9, False),
        (Reveal(when="tries", tries=3), False, 2, False),
        (Reveal(when="tries", tries=3), False, 3, True),
        (Reveal(when="tries", tries=3), True, 1, True),
        (Reveal(when="date", date="2030-01-31"), False, 0, True),
        (Reveal(when="date", date="2030-02-01"), True, 5, False),
        (Reveal(when="date", date="2030-01-31T12:00:01Z"), False, 0, False),
        (Reveal(when="date", date="2030-01-31T14:00:00+02:00"), False, 0, True),
    ],
)
def test_reveal(reveal: Reveal, solved: bool, tries: int, shown: bool) -> None:
    assert (why_hidden(reveal, solved=solved, tries=tries, now=NOON) is None) == shown


def test_the_words_count() -> None:
    policy = Reveal(when="tries", tries=3)
    assert why_hidden(policy, solved=False, tries=2, now=NOON) == (
        "The solution can be seen after a pass, or after 1 more attempt."
    )


@pytest.mark.parametrize(
    ("version", "wanted", "holds"),
    [
        ("0.12.0", ">=0.12,<0.13", True),
        ("0.12", ">=0.12.0", True),
        ("0.13.0", ">=0.12,<0.13", False),
        ("0.11.9", ">=0.12,<0.13", False),
        ("0.12.0.dev3+local", ">=0.12", True),
        ("0.12.1", "==0.12.*", True),
        ("0.13.1", "==0.12.*", False),
        ("0.12.4", "~=0.12.1", True),
        ("0.13.0", "~=0.12.1", False),
        ("1.0", "!=1.0.0", False),
        ("0.9", ">0.10", False),
    ],
)
def test_in_range(version: str, wanted: str, holds: bool) -> None:
    assert in_range(version, wanted) == holds
