"""A tiny set in a temporary folder, that tests may break."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tiny_set import write_tiny


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """The root of a good set of two exercises."""
    return write_tiny(tmp_path / "tiny")


@pytest.fixture
def edit(tiny: Path) -> Callable[..., None]:
    """Replace text in a file of the tiny set: `edit("exercises/set.toml", "old", "new")`."""

    def replace(name: str, old: str, new: str) -> None:
        path = tiny / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    return replace
