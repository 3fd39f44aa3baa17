"""`inspect` as a command: what it is given, what it prints, how it ends."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.terminal import CTRL_C, CTRL_Q, Terminal
from tutor.cli.errors import ExitCode

FILE = """\
import jax
import numpy as np
from jax.experimental import pallas as pl
from my_helper import ONE


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] + ONE


def plus(x, interpret=False):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), interpret=interpret)(x)


def make_args():
    return (np.full((8, 128), int(open("number.txt").read()), np.float32),)


def reference(x):
    return x + 1
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a helper beside it, in a folder of its own; the working directory holds its data."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "my_helper.py").write_text("ONE = 1\n")
    (folder / "mine.py").write_text(FILE)
    (tmp_path / "number.txt").write_text("5")
    monkeypatch.chdir(tmp_path)
    return folder / "mine.py"


def test_json(kt, mine: Path) -> None:
    done = kt("inspect", f"{mine}:plus", "--json", "--chip", "v5e", "--stage", "interpret")
    verdict = json.loads(done.out)
    assert done.code == ExitCode.DONE
    assert verdict["schema"] == "kerneltutor.verdict/1"
    assert (verdict["set"], verdict["exercise"], verdict["passed"]) == (None, None, True)
    assert verdict["attempt"]["path"] == str(mine)
    assert [s["name"] for s in verdict["stages"]] == ["load", "trace", "interpret"]
    (kernel,) = verdict["kernels"]
    assert [(o["name"], o["argument"]) for o in kernel["operands"]] == [("x_ref", "x"), ("o_ref", None)]


def test_the_default_function_is_run(kt, mine: Path) -> None:
    done = kt("inspect", str(mine), "--stage", "load")
    assert done.code == ExitCode.NOT_PASSED
    assert "KT104" in done.out
    assert "plus" in done.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("kernels/none.py",), "cannot be read"),
        (("kernels",), "is a folder"),
        (("kernels/mine.py", "--chip", "v5"), "no chip"),
        (("kernels/mine.py:",), "No function is named after the colon."),
        (("kernels/mine.py:2x",), '"2x" is no name of a function.'),
        (("kernels/mine.py", "--stage", "lowr"), "no stage"),
        (("kernels/mine.py", "--watch", "--json"), "do not go together"),
        (("kernels/mine.py", "--tui", "--json"), "--chip and --jail only"),
        (("kernels/mine.py", "--tui"), "needs a terminal"),
        ((), "FILE"),
    ],
)
def test_wrong_usage(kt, mine: Path, arguments: tuple[str, ...], words: str) -> None:
    done = kt("inspect", *arguments)
    assert done.code == ExitCode.USAGE
    assert words in done.err + done.out


def test_watch(mine: Path) -> None:
    command = (sys.executable, "-m", "tutor", "inspect", f"{mine}:plus", "--watch", "--stage", "interpret")
    with Terminal(command, os.environ) as terminal:
        terminal.until("Watching")
        terminal.until("HBM, whole grid")
        assert b"interpret passed; the rest was not asked" in terminal.output
        (mine.parent / "my_helper.py").write_text("ONE = 2\n")  # what the file imports counts too
        terminal.until("KT201")
        terminal.send(CTRL_C)
        assert terminal.wait() == ExitCode.INTERRUPTED
        assert b"Ended." in terminal.output and b"Interrupted" not in terminal.output
        assert "Traceback" not in terminal.output.decode()


def test_the_screen(mine: Path) -> None:
    command = (sys.executable, "-m", "tutor", "inspect", f"{mine}:plus", "--tui", "--chip", "v5e")
    with Terminal(command, os.environ) as terminal:
        terminal.until("mine.py:plus")
        terminal.until("ok passed")  # at once, unasked
        terminal.until("Jaxpr")
        assert b"Lesson" not in terminal.output
        assert b"F6" not in terminal.output
        mine.write_text(FILE.replace("+ ONE", "- ONE"))
        terminal.until("not passed")
        terminal.send(CTRL_Q)
        assert terminal.wait() == ExitCode.DONE
        assert "Traceback" not in terminal.output.decode()
    assert mine.read_text() == FILE.replace("+ ONE", "- ONE")


def test_the_jaxpr_of_a_file_of_ones_own(kt, mine: Path) -> None:
    done = kt("jaxpr", f"{mine}:plus")
    assert done.code == ExitCode.DONE, done.err
    assert "x_ref" in done.out and "one step" in done.out
    done = kt("jaxpr", f"{mine}:plus", "--json")
    assert [kernel["name"] for kernel in json.loads(done.out)["kernels"]]


def test_a_page_of_a_file_of_ones_own(kt, mine: Path) -> None:
    done = kt("jaxpr", f"{mine}:plus", "--html")
    assert done.code == ExitCode.DONE, done.err
    assert "<title>mine.py" in done.out and "from my_helper import ONE" in done.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("jaxpr", "kernels/mine.py:minus"), "KT104"),
        (("jaxpr", "kernels/none.py"), "cannot be read"),
        (("jaxpr", "kernels/mine.py", "other.py"), "one file too many"),
        (("check", "kernels/mine.py"), "`kerneltutor inspect kernels/mine.py` judges a file of your own."),
    ],
)
def test_a_file_in_the_place_of_an_exercise(kt, mine: Path, arguments, words) -> None:
    done = kt(*arguments)
    assert done.code in (ExitCode.USAGE, ExitCode.NOT_PASSED) and words in done.out + done.err
