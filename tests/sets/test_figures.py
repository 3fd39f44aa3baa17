"""Rules that are a ratio to the reference: without the reference its figures stand for it, and never silence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.warm import Warm
from tutor.ladder.check import Ladder
from tutor.ladder.events import CheckFinished
from tutor.ladder.figures import compares, reference_figures
from tutor.ladder.subject import subject
from tutor.ladder.worker import Worker
from tutor.protocol import Figures, Rules
from tutor.sets import Exercise, builtin_root, load_set


@pytest.fixture(scope="module")
def ragged() -> Exercise:
    """An exercise whose kernels move as many bytes as its integer inputs say."""
    return load_set(builtin_root()).exercise("ragged_batch")


def without_solutions(exercise: Exercise, figures: list[Figures]) -> Exercise:
    return replace(exercise, solutions=Path("/none"), figures=tuple(figures))


async def structure(ladder: Ladder, exercise: Exercise, source: bytes, seed: int | None = None) -> list[str]:
    async for event in ladder.check(exercise, source, "x.py", target="structure", seed=seed):
        if isinstance(event, CheckFinished):
            last = event.verdict
    return [found.code for found in last.stages[-1].findings]


def test_the_verdict_is_the_same_with_figures_and_honest_without(ragged: Exercise, warm: Warm) -> None:
    wasteful = (ragged.solutions / "wrong_mask_only.py").read_bytes()

    async def work(ladder: Ladder) -> None:
        figures = await reference_figures(ladder.runs(subject(ragged, b"", "x.py")))
        assert [found.case for found in figures] == [case.name for case in ragged.cases() if case.role == "check"]
        again = ladder.runs(subject(ragged, b"", "x.py"))
        again.stage = Worker("nobody")  # so nothing can be asked: they are read off once
        assert await reference_figures(again) == figures
        theirs = without_solutions(ragged, figures)
        assert await structure(ladder, ragged, wasteful) == ["KT313"]
        assert await structure(ladder, theirs, wasteful) == ["KT313"]
        assert await structure(ladder, without_solutions(ragged, []), wasteful) == ["KT860"]
        # other lengths than those that the figures were counted for
        assert await structure(ladder, ragged, wasteful, seed=7) == ["KT313"]
        assert await structure(ladder, theirs, wasteful, seed=7) == ["KT860"]

    warm.do(work)


@pytest.mark.parametrize(
    ("rules", "asked"),
    [(None, False), (Rules(kernels=1), False), (Rules(max_steps_ratio=1), True), (Rules(max_bytes_ratio=0.0), True)],
)
def test_which_rules_compare(rules: Rules | None, asked: bool) -> None:
    assert compares(rules) is asked
