"""The estimate in words: an estimate, two digits, and faster or slower only from 10 % on."""

from __future__ import annotations

import pytest

from tutor.ladder.chip_use import by_chip
from tutor.ladder.speed_words import duration, estimate_lines, short_estimate
from tutor.protocol import Compilation, Schedule


def schedule(us: float, notes: list[str] | None = None) -> Schedule:
    return Schedule(us, us / 8, "memory", 8 << 20, 0.5, 0.0, {}, notes or [])


def compilation(mine: float | None, reference: float | None, chip: str = "v5e") -> Compilation:
    return Compilation(
        chip, "big", "passed",
        schedule=schedule(mine) if mine is not None else None,
        reference=schedule(reference) if reference is not None else None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("mine", "reference", "words"),
    [
        (109.0, 100.0, "About as fast as the reference."),
        (92.0, 100.0, "About as fast as the reference."),
        (111.0, 100.0, "About 1.1 times slower than the reference."),
        (1000.0, 100.0, "About 10 times slower than the reference."),
        (50.0, 100.0, "About 2 times faster than the reference."),
    ],
)
def test_beside_the_reference(mine: float, reference: float, words: str) -> None:
    text = "\n".join(estimate_lines(compilation(mine, reference)))
    assert words in text and text.startswith("Estimate for v5e, case big") and "no TPU was used" in text


@pytest.mark.parametrize(
    ("chip", "words"), [("v5e", "within 15 %"), ("v6e", "rough"), ("v4", "not checked"), ("tpu7x", "not checked")]
)
def test_how_far_it_can_be_trusted(chip: str, words: str) -> None:
    assert words in "\n".join(estimate_lines(compilation(100.0, None, chip)))


def test_without_an_estimate_nothing_is_said() -> None:
    assert estimate_lines(compilation(None, 100.0)) == [] and short_estimate([compilation(None, None)]) is None


def test_short() -> None:
    assert short_estimate([compilation(None, None, "v6e"), compilation(130.0, 100.0)]) == (
        "estimate for v5e: 1.3x the reference's time"
    )
    assert short_estimate([compilation(174.2, None)]) == "estimate for v5e: 170 µs"


@pytest.mark.parametrize(
    ("us", "words"), [(0.3371, "0.34 µs"), (174.2, "170 µs"), (999.0, "1000 µs"), (13683.0, "14 ms")]
)
def test_two_digits(us: float, words: str) -> None:
    assert duration(us) == words


def test_one_line_a_chip() -> None:
    def one(chip: str, case: str, status: str, vmem: int | None) -> Compilation:
        return Compilation(chip, case, status, vmem)  # type: ignore[arg-type]

    uses = by_chip([one("v5e", "a", "passed", 1), one("v5e", "b", "failed", None), one("v6e", "a", "passed", 7)])
    assert [(u.chip, u.status, u.cases, u.failed, u.largest and u.largest.case) for u in uses] == [
        ("v5e", "failed", 2, ["b"], "a"),
        ("v6e", "passed", 1, [], "a"),
    ]
