"""The estimate in words: an estimate, two digits, and faster or slower only from 10 % on."""

from __future__ import annotations

import pytest

from tutor.ladder.chip_use import by_chip
from tutor.ladder.speed_words import amount, duration, estimate_figures, short_estimate
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
    figures = estimate_figures(compilation(mine, reference))
    assert figures is not None and words in figures.verdict and figures.names == ["yours", "reference"]
    assert figures.title.startswith("Speed estimate for v5e, case big") and "no TPU used" in figures.title


@pytest.mark.parametrize(
    ("chip", "words"), [("v5e", "within 15 %"), ("v6e", "rough"), ("v4", "not checked"), ("tpu7x", "not checked")]
)
def test_how_far_it_can_be_trusted(chip: str, words: str) -> None:
    figures = estimate_figures(compilation(100.0, None, chip))
    assert figures is not None and words in figures.verdict and figures.names == ["yours"]


def test_without_an_estimate_nothing_is_said() -> None:
    assert estimate_figures(compilation(None, 100.0)) is None and short_estimate([compilation(None, None)]) is None


def test_equal_figures_stand_once() -> None:
    figures = estimate_figures(compilation(100.4, 100.3))
    assert figures is not None and figures.names == ["both"] and all(len(cells) == 1 for _, cells in figures.rows)


def test_every_figure_has_its_line() -> None:
    units = {"VALU": 0.62, "XLU": 0.11, "SALU": 0.05, "VSTORE:SPILL": 0.2, "MATMUL": 0.4, "EUP": 0.3}
    busy = Schedule(174.2, 0.337, "DMA overhead", 3 << 19, 0.123, 0.2, units, ["a note"])
    figures = estimate_figures(Compilation("v5e", "big", "passed", schedule=busy))
    assert figures is not None and figures.notes == ["A note."]
    assert figures.rows == [
        ("total", ["170 µs"]), ("a grid step", ["0.34 µs"]), ("limited by", ["many small copies"]),
        ("read from HBM", ["1.5 MiB"]), ("waiting", ["12 %"]), ("spilled stores", ["20 %"]),
        ("vector unit", ["62 % busy"]), ("matrix unit", ["40 % busy"]), ("exp, log, 1/x", ["30 % busy"]),
    ]  # fmt: skip


def test_short() -> None:
    assert short_estimate([compilation(None, None, "v6e"), compilation(130.0, 100.0)]) == (
        "v5e estimate 130 µs, about 1.3 times slower than the reference"
    )
    assert short_estimate([compilation(174.2, None)]) == "v5e estimate 170 µs"


def test_amounts() -> None:
    assert [amount(n) for n in (5, 2048, 3 << 19, 1234 << 20, 1 << 34)] == [
        "5 bytes", "2 KiB", "1.5 MiB", "1.21 GiB", "16 GiB",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("us", "words"), [(0.3371, "0.34 µs"), (174.2, "170 µs"), (994.0, "990 µs"), (999.0, "1 ms"), (13683.0, "14 ms")]
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
