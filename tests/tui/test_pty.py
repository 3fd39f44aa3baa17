"""The real program in a real terminal: start, edit, save, see it pass, quit."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.terminal import (
    BACKSPACE,
    CTRL_Q,
    CTRL_S,
    ENTER_FULL_SCREEN,
    F4,
    F8,
    LEAVE_FULL_SCREEN,
    SHIFT_DOWN,
    Terminal,
    pasted,
)
from tutor.cli.errors import ExitCode
from tutor.sets import find_set, load_set
from tutor.sets.workspace import side_file

PROGRAM = (sys.executable, "-m", "tutor")
EXERCISE = load_set(find_set()).exercises[0]  # where the program opens for a new learner
REFERENCE = EXERCISE.reference.read_text()


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Homes of the test's own."""
    private = {name: str(tmp_path / name) for name in ("HOME", "XDG_STATE_HOME", "KERNELTUTOR_DATA")}
    Path(private["HOME"]).mkdir()
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "CI", "COLUMNS", "LINES")}
    return {**kept, **private, "KERNELTUTOR_WORKSPACE": str(tmp_path / "work")}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The learner's file of the first exercise."""
    return tmp_path / "work" / EXERCISE.set_id / EXERCISE.chapter / EXERCISE.file_name


@pytest.fixture
def screen(environment: dict[str, str]) -> Iterator[Terminal]:
    """The program, open at the first exercise."""
    with Terminal(PROGRAM, environment) as terminal:
        terminal.until(EXERCISE.slug)
        terminal.until("Is the algebra right?")
        terminal.until(EXERCISE.title)
        yield terminal


def edit(terminal: Terminal) -> None:
    """Go to the editor, and wait until keys go there: the key line then offers the way back."""
    terminal.send(F4)
    terminal.until(lambda text: "import jax" in text and "F3 lesson" in text and "F4 edit" not in text)


def leave(terminal: Terminal) -> None:
    """Quit, and see that the terminal is as it was."""
    terminal.send(CTRL_Q)
    assert terminal.wait() == 0
    after = terminal.output.rpartition(LEAVE_FULL_SCREEN)[2]
    assert ENTER_FULL_SCREEN in terminal.output
    assert LEAVE_FULL_SCREEN in terminal.output
    assert ENTER_FULL_SCREEN not in after
    assert terminal.output.rfind(b"\x1b[?25h") > terminal.output.rfind(b"\x1b[?25l"), "the cursor must be back"
    assert terminal.restored


def solved(environment: dict[str, str]) -> bool:
    """Whether the history says that the exercise is solved."""
    done = subprocess.run([*PROGRAM, "list"], env=environment, capture_output=True, text=True, check=True)
    (line,) = [line for line in done.stdout.splitlines() if EXERCISE.slug in line]
    return line.split()[0] == "ok"


def test_a_save_in_another_editor_is_checked_and_passes(
    screen: Terminal, file: Path, environment: dict[str, str]
) -> None:
    assert file.read_text() == EXERCISE.starter
    file.write_text(REFERENCE)
    screen.until("ok passed")
    assert "Is the layout legal?" in screen.text
    screen.send(F8)
    screen.until("# kernel 0:")
    leave(screen)
    assert solved(environment)


def test_the_built_in_editor_writes_the_file_and_the_check_passes(
    screen: Terminal, file: Path, environment: dict[str, str]
) -> None:
    edit(screen)
    # Keys are taken in order, a paste as soon as it arrives: so the text is gone before the new one comes.
    screen.send(SHIFT_DOWN * (EXERCISE.starter.count("\n") + 1) + BACKSPACE)
    screen.until(lambda text: "import jax" not in text)
    screen.send(pasted(REFERENCE))
    screen.until(REFERENCE.splitlines()[-1].strip()[:40])
    for key in "# mine":
        screen.send(key)
    screen.until("# mine")
    assert file.read_text() == EXERCISE.starter, "nothing is written before it is saved"
    screen.send(CTRL_S)
    screen.until("ok passed")
    assert file.read_text() == f"{REFERENCE}# mine"
    leave(screen)
    assert solved(environment)


def test_a_wrong_attempt_does_not_pass_and_unsaved_text_is_asked_about(
    screen: Terminal, file: Path, environment: dict[str, str]
) -> None:
    edit(screen)
    screen.send(CTRL_S)
    screen.until("not passed")
    screen.send("#")
    screen.until("modified")
    screen.send(CTRL_Q)
    screen.until("Throw the changes away")
    screen.send("\x1b[B")  # the second answer: throw the changes away
    screen.send("\r")
    assert screen.wait() == 0
    assert screen.restored
    assert file.read_text() == EXERCISE.starter
    assert not solved(environment)


def test_a_lost_terminal_ends_the_program_and_keeps_unsaved_text(screen: Terminal, file: Path) -> None:
    edit(screen)
    screen.send("#")
    screen.until("modified")
    screen.hang_up()
    assert screen.process.wait(30) == ExitCode.INTERRUPTED
    assert side_file(file).read_text() == f"#{EXERCISE.starter}"
    assert file.read_text() == EXERCISE.starter
