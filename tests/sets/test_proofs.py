"""Exercises that prove themselves: what must pass passes, and every wrong answer is caught as it says.

`set check` proves all exercises, and CI runs it first. What it has proved with the same code is not proved again here;
a fresh clone proves these three."""

import pytest

from tests.warm import Warm
from tutor.ladder.proof import MARGIN, default_bound, margins, programs, prove
from tutor.ladder.proof_cache import Proofs
from tutor.sets import builtin_root, load_set

PROVED = ["f32_accumulator", "any_sync_copy", "zeros_alias"]


@pytest.mark.parametrize("slug", PROVED)
def test_an_exercise_proves_itself(slug: str, warm: Warm) -> None:
    exercise = load_set(builtin_root()).exercise(slug)

    async def work(ladder):
        return [one async for one in prove(ladder, exercise, Proofs())]

    proved = warm.do(work)
    assert {one.program.name: one.problem for one in proved if one.problem} == {}
    measured = margins(proved, default_bound(exercise))
    assert measured.right is None or measured.right >= MARGIN
    assert measured.wrong is None or measured.wrong >= MARGIN


@pytest.mark.parametrize("slug", PROVED)
def test_an_exercise_brings_enough_programs(slug):
    kinds = [program.kind for program in programs(load_set(builtin_root()).exercise(slug))]
    assert kinds.count("reference") == kinds.count("starter") == 1
    assert kinds.count("right") >= 2
    assert kinds.count("wrong") >= 5


def test_every_public_case_set_has_a_hazard_case_and_hidden_cases():
    for exercise in load_set(builtin_root()).exercises:
        if exercise.kind == "kernel":
            public, every = exercise.cases(), exercise.cases(hidden=True)
            assert any(case.hazard for case in public), exercise.slug
            assert len(every) > len(public), exercise.slug
            assert len(exercise.hints) == 3, exercise.slug
