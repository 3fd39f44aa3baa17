"""Every Python block of every lesson runs, in order, in one namespace: what a lesson shows, works."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXERCISES = Path(__file__).parents[2] / "exercises"
LESSONS = sorted(EXERCISES.glob("*/*/lesson.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(text: str) -> str:
    """The Python blocks of a lesson as one program, on the lines that they have in the lesson."""
    lines = [""] * text.count("\n")
    for match in BLOCK.finditer(text):
        first = text.count("\n", 0, match.start(1))
        code = match[1].splitlines()
        lines[first : first + len(code)] = code
    return "\n".join(lines)


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    file = folder / "lesson.py"
    file.write_text(code, encoding="utf-8")
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    return subprocess.run([sys.executable, file], capture_output=True, text=True, env=environment, check=False)


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.parent.name)
def test_code_runs(lesson: Path, tmp_path: Path) -> None:
    code = blocks(lesson.read_text(encoding="utf-8"))
    assert code.strip(), "a lesson shows code"
    done = run(code, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.parent.name)
def test_fits_a_terminal(lesson: Path) -> None:
    wide = [line for line in lesson.read_text(encoding="utf-8").splitlines() if len(line) > 80]
    assert not wide


def test_there_are_lessons() -> None:
    assert len(LESSONS) >= 3


def test_broken_block_is_noticed(tmp_path: Path) -> None:
    code = blocks("# Title\n\n```python\na = 1\n```\n\nwords\n\n```python\nassert a == 2\n```\n")
    done = run(code, tmp_path)
    assert done.returncode != 0
    assert "line 10, in <module>" in done.stderr
