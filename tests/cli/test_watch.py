"""`watch` in a real terminal: every save gets a verdict, and Ctrl+C ends it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.terminal import CTRL_C, Terminal
from tutor.cli.errors import ExitCode
from tutor.sets import find_set, load_set

EXERCISE = load_set(find_set()).exercise("any_sync_copy")


@pytest.fixture
def file(work: Path) -> Path:
    """The learner's file."""
    return work / EXERCISE.set_id / EXERCISE.chapter / EXERCISE.file_name


@pytest.fixture
def watching(work: Path) -> Iterator[Terminal]:
    """`watch` of one exercise, in a terminal of its own."""
    with Terminal((sys.executable, "-m", "tutor", "watch", EXERCISE.slug), os.environ) as terminal:
        terminal.until("Watching")
        yield terminal


def test_a_save_is_judged_and_ctrl_c_ends_it(watching: Terminal, file: Path) -> None:
    watching.until("HBM, whole grid")  # the end of the verdict; its head has scrolled away
    assert b"NOT PASSED" in watching.output
    file.write_bytes(EXERCISE.reference.read_bytes())
    watching.until("names the next exercise")
    watching.send(CTRL_C)
    assert watching.wait() == ExitCode.INTERRUPTED
    assert watching.restored
    assert b"Ended." in watching.output and b"Interrupted" not in watching.output
    assert "Traceback" not in watching.output.decode()


def test_ctrl_c_during_a_check_ends_it_too(watching: Terminal) -> None:
    watching.until(f"{EXERCISE.slug}:")
    watching.send(CTRL_C)
    assert watching.wait() == ExitCode.INTERRUPTED
    assert watching.restored
    assert b"Ended." in watching.output and b"Interrupted" not in watching.output
    assert "Traceback" not in watching.output.decode()
