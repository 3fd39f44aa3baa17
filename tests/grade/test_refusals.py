"""What `grade` does not begin with: nothing is written, and the next step is named."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.grade.classes import RIGHT, hand_in
from tutor.cli.app import run
from tutor.sets import ExerciseSet


@pytest.fixture
def asked(small: ExerciseSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A command line that would grade a class of one."""
    monkeypatch.setenv("KERNELTUTOR_DATA", str(tmp_path / "data"))
    hand_in(tmp_path / "class" / "ada", scale=RIGHT)
    return ["grade", str(tmp_path / "class"), "--set", str(small.root), "--out", str(tmp_path / "out")]


def refused(command: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert run(command) == 2
    assert not Path(command[-1]).exists()
    return capsys.readouterr().err


def test_a_folder_without_submissions(asked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(Path(asked[1]) / "ada")
    assert "holds no submissions" in refused(asked, capsys)


def test_out_inside_the_class(asked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    asked[-1] = str(Path(asked[1]) / "out")
    assert "Choose another --out" in refused(asked, capsys)


def test_a_students_copy_of_the_set(asked: list[str], small: ExerciseSet, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(small.root / "solutions")
    assert "the instructor's set" in refused(asked, capsys)


def test_a_set_with_a_broken_exercise(asked: list[str], small: ExerciseSet, capsys: pytest.CaptureFixture[str]) -> None:
    (small.root / "exercises" / "01_refs" / "01_scale" / "exercise.toml").write_text("format = 2")
    assert "exercise.toml" in refused(asked, capsys)


def test_a_set_for_another_jax(asked: list[str], small: ExerciseSet, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = small.root / "exercises" / "set.toml"
    manifest.write_text(manifest.read_text().replace(">=0.12,<0.13", ">=99"))
    assert "made for jax >=99" in refused(asked, capsys)


def test_the_weakest_tier_unless_it_is_allowed(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KERNELTUTOR_ISOLATION", "C")
    said = refused(asked, capsys)
    assert "tier C" in said and "--allow-weak" in said


@pytest.mark.parametrize("options", [["--jobs", "0"], ["--chip", "v99"], ["--roster", "nowhere.csv"]])
def test_options_that_make_no_sense(options: list[str], asked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    refused([*asked[:2], *options, *asked[2:]], capsys)
