"""The Python of a set from elsewhere runs in workers alone: never in the process that has the terminal and the history.

Every program of the set raises where it finds our front's modules. That the trap works is shown first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tutor.cli.app import run
from tutor.sets import Workspace, load_set
from tutor.sets.scaffold import new_set

TRAP = "import sys\nif 'tutor.ladder.check' in sys.modules:\n    raise SystemExit('it ran in the front')\n"
PREDICT = """\
format = 1
kind = "predict"
slug = "guess"
title = "Guess"

[[question]]
id = "loads"
kernel = "add"
ask = "How often is x_ref loaded?"
quantity = "loads.x_ref"
"""


@pytest.fixture
def trapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A set of a kernel and a predict exercise, all of whose programs have the trap at their top."""
    monkeypatch.setenv("KERNELTUTOR_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("KERNELTUTOR_WORKSPACE", str(tmp_path / "work"))
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "hw"
    new_set(root)
    reference = (root / "solutions/01_first/01_add_blocks/reference.py").read_text()
    guess = root / "exercises/01_first/02_guess"
    guess.mkdir()
    (guess / "exercise.toml").write_text(PREDICT)
    (guess / "lesson.md").write_text("# Guess\n")
    (guess / "starter.py").write_text("loads = None\n")
    arguments = "\n\ndef make_args():\n    import numpy\n    return (numpy.ones((64, 128), 'float32'),) * 2\n"
    (guess / "kernels.py").write_text(reference + arguments)
    for path in root.rglob("*.py"):
        if path.name != "starter.py" and not path.name.startswith("wrong_"):
            path.write_text(TRAP + path.read_text())
    return root


def test_the_trap_works(trapped: Path) -> None:
    for path in (trapped / "exercises/01_first/01_add_blocks/oracle.py", *trapped.rglob("kernels.py")):
        code = f"import tutor.ladder.check, runpy; runpy.run_path({str(path)!r})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == 1 and "it ran in the front" in done.stderr


def test_no_verb_runs_it_in_the_front(trapped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exercises = load_set(trapped)
    source = (trapped / "solutions/01_first/01_add_blocks/reference.py").read_bytes()
    Workspace(Path("work").absolute()).save(exercises.exercise("add_blocks"), source.removeprefix(TRAP.encode()))
    Workspace(Path("work").absolute()).save(exercises.exercise("guess"), b"loads = 1\n")
    verbs = [
        ["list"], ["next"], ["show", "add_blocks"], ["show", "guess"], ["hint", "add_blocks"],
        ["check", "add_blocks"], ["check", "guess"], ["solution", "add_blocks"], ["jaxpr", "add_blocks"],
        ["submit"], ["set", "pack", "--student"], ["set", "pack", "--instructor"], ["set", "new", "--exercise", "more"],
    ]  # fmt: skip
    for verb in verbs:
        assert run([*verb, "--set", str(trapped)]) == 0, capsys.readouterr()
    assert "PASSED" in capsys.readouterr().out
