"""A set to grade with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.grade.classes import write_set
from tutor.sets import ExerciseSet, load_set


@pytest.fixture
def small(tmp_path: Path) -> ExerciseSet:
    """A set of two exercises, loaded."""
    return load_set(write_set(tmp_path / "set"))
