"""Attempts without effort: they are real programs, and an exercise that lets one through is told so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.warm import Warm
from tutor.ladder.check import Ladder
from tutor.ladder.proof_cache import Proofs
from tutor.ladder.zero_effort import Tried, attempts, prove_zero_effort
from tutor.sets import builtin_root, load_set

MANIFEST = """\
format = 1
kind = "kernel"
slug = "blank"
title = "Blank"
entry = "blank"
starter = "interpret KT201"

[[input]]
name = "x"
shape = ["m", 128]
dtype = "float32"

[[output]]
name = "out"
shape = ["m", 128]
dtype = "float32"

[[case]]
name = "small"
sizes = { m = 8 }
hazard = true

[rules]
kernels = 1
"""
ORACLE = """\
import numpy as np


def make_inputs(rng, case):
    return {"x": rng.standard_normal(case.inputs[0].shape).astype(np.float32)}


def expected(inputs, case):
    return EXPECTED
"""
XLA = "import jax.numpy as jnp\n\n\ndef blank(x):\n    return jnp.exp(x)\n"


def write(root: Path, expected: str) -> Path:
    home, solutions = root / "exercises/01_refs/01_blank", root / "solutions/01_refs/01_blank"
    home.mkdir(parents=True)
    solutions.mkdir(parents=True)
    (root / "exercises/set.toml").write_text('format = 1\nid = "s"\ntitle = "S"\nchapters = ["01_refs"]\n')
    (home / "exercise.toml").write_text(MANIFEST)
    (home / "oracle.py").write_text(ORACLE.replace("EXPECTED", expected))
    (home / "starter.py").write_text("")
    (home / "lesson.md").write_text("")
    (solutions / "xla.py").write_text(XLA)
    return root


@pytest.mark.parametrize(
    ("expected", "through"),
    [
        ("np.exp(inputs['x'])", []),
        ("np.zeros_like(inputs['x'])", ["zeros"]),
        ("np.ones_like(inputs['x'])", ["a constant"]),
        ("inputs['x']", ["a copy of x"]),
    ],
)
def test_what_an_exercise_lets_through(warm: Warm, tmp_path: Path, expected: str, through: list[str]) -> None:
    """The oracle is right for one of the attempts; the rules do not save it, since it has a kernel."""
    exercise = load_set(write(tmp_path, expected)).exercise("blank")
    proofs = Proofs(tmp_path / "proofs")

    async def work(ladder: Ladder) -> list[Tried]:
        return [one async for one in prove_zero_effort(ladder, exercise, proofs)]

    found = warm.do(work)
    assert [one.program.path for one in found if one.problem] == through
    assert len(found) == 7
    assert {one.program.path for one in warm.do(work) if one.kept} == {one.program.path for one in found} - {*through}


def test_a_broken_oracle_turns_nothing_down(warm: Warm, tmp_path: Path) -> None:
    """Else an exercise that cannot be judged would count as one that lets nothing through."""
    exercise = load_set(write(tmp_path, "NOTHING")).exercise("blank")

    async def work(ladder: Ladder) -> list[Tried]:
        return [one async for one in prove_zero_effort(ladder, exercise, Proofs(tmp_path / "proofs"))]

    [problem] = {one.problem for one in warm.do(work) if one.program.path == "zeros"}
    assert problem is not None and problem.startswith("must fail, but the tutor itself failed at interpret")


def test_every_attempt_at_a_built_in_exercise_is_python() -> None:
    for exercise in load_set(builtin_root()).exercises:
        if exercise.kind == "kernel":
            made = attempts(exercise)
            assert "zeros" in made and "jnp alone" in made, exercise.slug
            for name, source in made.items():
                compile(source, name, "exec")
