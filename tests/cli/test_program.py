"""The real program, in processes of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def program(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tutor", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
    )


def test_from_any_directory(tiny: Path, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = program("list", "--set", "tiny")
    assert (done.returncode, done.stderr) == (0, f"A tiny set (tiny, folder {tiny.resolve()}): 0 of 2 solved.\n")
    assert done.stdout.startswith("01 Refs\n")


@pytest.mark.parametrize("verb", ["list", "next", "progress", "doctor", "explain"])
def test_no_jax_and_no_textual(verb: str, tiny: Path, work: Path) -> None:
    arguments = [verb, "--set", str(tiny), *(["KT401"] if verb == "explain" else [])]
    probe = (
        "import sys; from tutor.cli.app import run; code = run(sys.argv[1:]); "
        "print('HEAVY', [m for m in ('jax', 'jaxlib', 'numpy', 'textual', 'pygments') if m in sys.modules], code)"
    )
    done = subprocess.run([sys.executable, "-c", probe, *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "HEAVY [] 0"


def test_the_probe_can_fail() -> None:
    probe = "import sys, numpy; print([m for m in ('jax', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['numpy']"


def test_a_reader_that_goes_away(tiny: Path, work: Path) -> None:
    command = [sys.executable, "-m", "tutor", "show", "scale", "--set", str(tiny)]
    (tiny / "exercises/01_refs/01_scale/lesson.md").write_text("line\n" * 200_000)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait() == 0


def test_a_narrow_encoding_does_not_end_it(tiny: Path, work: Path) -> None:
    (tiny / "exercises/01_refs/01_scale/lesson.md").write_text("µ\n", encoding="utf-8")
    done = program("show", "scale", "--set", str(tiny), PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr, "# Scale" in done.stdout) == (0, "", False)


def test_shell_completion_knows_verbs_and_slugs(tiny: Path, work: Path) -> None:
    def complete(words: str, position: int) -> str:
        return program(_KERNELTUTOR_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(position)).stdout

    assert "list" in complete("kerneltutor li", 1)
    assert complete(f"kerneltutor --set {tiny} show sc", 4).strip() == "plain,scale"
    assert complete("kerneltutor --set /nowhere show sc", 4).strip() == ""
    assert "KT401" in complete("kerneltutor explain KT40", 2)


def test_a_missing_home_is_no_crash(tiny: Path, work: Path) -> None:
    done = program("list", "--set", str(tiny), HOME="/nonexistent")
    assert done.returncode == 0
