"""What a file reaches for, read from its syntax tree."""

from __future__ import annotations

import pytest

from tutor.grade.reach import reached
from tutor.sets import find_set


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import tutor.stage.jobs", ["tutor.stage.jobs"]),
        ("from tutor import wire", ["tutor", "tutor.wire"]),
        ("from jax import export", ["jax.export"]),
        ("import jax\njax._src.core", ["jax._src", "jax._src.core"]),
        ("import sys\nsys._getframe(1)", ["sys._getframe"]),
        ("import sys as s\ns.modules['x']", ["s.modules"]),
        ("__import__('tu' + 'tor')", ["__import__"]),
        ("eval('1')", ["eval"]),
        ("import jax\nimport jax.numpy as jnp\nfrom jax.experimental import pallas as pl\n", []),
        ("import tutorial", []),
        ("no python at all", []),
        ("(" * 5000, []),
    ],
)
def test_what_is_reached(source: str, names: list[str]) -> None:
    assert reached(source.encode()) == names


def test_no_honest_program_of_the_built_in_set_reaches_for_anything() -> None:
    programs = sorted(find_set(None).rglob("solutions/**/*.py"))
    assert len(programs) > 200
    honest = [path for path in programs if not path.name.startswith("wrong_")]
    assert [path.name for path in honest if reached(path.read_bytes())] == []
