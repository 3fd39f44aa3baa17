"""The program run in this process, on a tiny set, with a workspace and a history of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.tiny_set import write_tiny
from tutor.cli.app import run


class Done(NamedTuple):
    """What a run of the program did."""

    code: int
    out: str
    err: str


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """The root of a good set of two exercises."""
    return write_tiny(tmp_path / "tiny")


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The workspace; the history is beside it."""
    monkeypatch.setenv("KERNELTUTOR_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("KERNELTUTOR_WORKSPACE", str(tmp_path / "work"))
    monkeypatch.delenv("NO_COLOR", raising=False)
    return tmp_path / "work"


@pytest.fixture
def kt(tiny: Path, work: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Run the program: `kt("show", "scale")`."""

    def call(*arguments: str) -> Done:
        code = run([*arguments, "--set", str(tiny)] if "--set" not in arguments else list(arguments))
        out, err = capsys.readouterr()
        return Done(code, out, err)

    return call
