"""Every Python block of every lesson runs, in order, in one namespace: what a lesson shows, works."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

EXERCISES = Path(__file__).parents[2] / "exercises"
FORK_EACH = Path(__file__).with_name("fork_each.py")
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


class Done(NamedTuple):
    """How a lesson's code ended, and what it printed."""

    code: int
    output: str


@pytest.fixture(scope="module")
def run() -> Iterator[Callable[[str, Path], Done]]:
    """Runs code as a program of its own, in a fork of a process that has imported JAX."""
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    process = subprocess.Popen(
        [sys.executable, FORK_EACH], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdin is not None and process.stdout is not None
    asked, answered = process.stdin, process.stdout

    def call(code: str, folder: Path) -> Done:
        file, output = folder / "lesson.py", folder / "output.txt"
        file.write_text(code, encoding="utf-8")
        print(json.dumps([str(file), str(output)]), file=asked, flush=True)
        return Done(int(answered.readline()), output.read_text(encoding="utf-8"))

    yield call
    process.communicate()


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.parent.name)
def test_code_runs(lesson: Path, tmp_path: Path, run: Callable[[str, Path], Done]) -> None:
    code = blocks(lesson.read_text(encoding="utf-8"))
    assert code.strip(), "a lesson shows code"
    done = run(code, tmp_path)
    assert done.code == 0, done.output


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.parent.name)
def test_fits_a_terminal(lesson: Path) -> None:
    wide = [line for line in lesson.read_text(encoding="utf-8").splitlines() if len(line) > 80]
    assert not wide


def test_there_are_lessons() -> None:
    assert len(LESSONS) >= 3


def test_broken_block_is_noticed(tmp_path: Path, run: Callable[[str, Path], Done]) -> None:
    code = blocks("# Title\n\n```python\na = 1\n```\n\nwords\n\n```python\nassert a == 2\n```\n")
    done = run(code, tmp_path)
    assert done.code != 0
    assert "line 10, in <module>" in done.output
