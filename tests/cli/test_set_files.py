"""`set new`, `set pack` and `submit` as they are used."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Done
from tests.unit.verdicts import verdict
from tutor.record import open_history
from tutor.sets import Workspace, load_set
from tutor.sets.archive import read_archive
from tutor.sets.submission import MANIFEST

Kt = Callable[..., Done]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# ---------------------------------------------------------------- set new


def test_new(kt: Kt, here: Path) -> None:
    done = kt("set", "new", "my set", "--id", "hw1", "--title", "Homework 1")
    assert done.code == 0 and "my set/exercises/set.toml" in done.out.splitlines()
    assert "kerneltutor set check --set 'my set'" in done.err
    assert load_set(here / "my set").title == "Homework 1"
    again = kt("set", "new", "my set")
    assert again.code == 2 and "is there already" in again.err


def test_new_exercise_by_folder_and_by_option(kt: Kt, tiny: Path) -> None:
    assert kt("set", "new", "--exercise", "one").code == 0
    assert kt("set", "new", str(tiny), "--exercise", "two", "--chapter", "01_refs", "--title", "Two").code == 0
    assert load_set(tiny).slugs == ["scale", "two", "guess", "one"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "Give the set's folder DIR"),
        (["hw", "--chapter", "01_a"], "--chapter belongs to --exercise"),
        (["--exercise", "one", "--slug", "two"], "--exercise takes neither"),
    ],
)
def test_new_used_wrongly(kt: Kt, arguments: list[str], words: str) -> None:
    done = kt("set", "new", *arguments)
    assert done.code == 2 and words in done.err


def test_nothing_is_added_to_the_built_in_set(kt: Kt) -> None:
    done = kt("set", "new", "--exercise", "one", "--set", "pallas")
    assert done.code == 2 and "no folder of your own" in done.err


# ---------------------------------------------------------------- set pack


def test_pack_for_students(kt: Kt, here: Path, tiny: Path) -> None:
    done = kt("set", "pack", "--student", "--json")
    said = json.loads(done.out)
    assert (done.code, said["file"]) == (0, "tiny-student.zip")
    assert said["pack"]["set_sha256"] == load_set(tiny).public_sha256
    assert {name.split("/")[0] for name in read_archive(here / "tiny-student.zip")} == {"exercises", "pack.json"}


def test_pack_for_instructors_is_for_its_owner(kt: Kt, here: Path) -> None:
    done = kt("set", "pack", "--instructor", "-o", "to/all.zip")
    assert (done.code, done.out) == (0, "to/all.zip\n") and "keep it to yourself" in done.err
    assert stat.S_IMODE((here / "to/all.zip").stat().st_mode) == 0o600


def test_pack_overwrites_nothing_and_asks_for_whom(kt: Kt, here: Path) -> None:
    (here / "mine.zip").write_text("mine")
    done = kt("set", "pack", "--student", "-o", "mine.zip")
    assert done.code == 2 and "is there already" in done.err and (here / "mine.zip").read_text() == "mine"
    assert "Give --student or --instructor" in kt("set", "pack").err


def test_a_broken_exercise_is_told_and_not_packed(kt: Kt, tiny: Path, here: Path) -> None:
    toml = tiny / "exercises/02_blocks/01_guess/exercise.toml"
    toml.write_text(toml.read_text().replace("title =", "titel ="))
    done = kt("set", "pack", "--student")
    assert done.code == 2 and "exercise.toml" in done.err and 'Did you mean "title"?' in done.err
    assert not list(here.glob("*.zip"))


# ---------------------------------------------------------------- sets made for another JAX


def test_a_set_for_another_jax_is_shown_and_not_judged(kt: Kt, tiny: Path) -> None:
    toml = tiny / "exercises/set.toml"
    toml.write_text(toml.read_text().replace(">=0.12,<0.13", ">=99"))
    assert kt("list").code == 0
    for verb in (["check", "scale"], ["set", "check"], ["watch", "scale"]):
        done = kt(*verb)
        assert done.code == 2 and "The set tiny is made for jax >=99, and jax 0." in done.err


# ---------------------------------------------------------------- submit


def begin(tiny: Path, work: Path, slug: str, source: bytes) -> None:
    Workspace(work).save(load_set(tiny).exercise(slug), source)


def check(slug: str, source: bytes, passed: bool) -> None:
    with open_history() as history:
        history.add("tiny", slug, source, verdict(passed=passed))


def test_nothing_to_submit(kt: Kt, here: Path) -> None:
    done = kt("submit")
    assert done.code == 1 and "you have begun none" in done.err
    assert not list(here.glob("*.zip"))


@pytest.mark.parametrize(
    ("checked", "state", "words"),
    [
        ([], "unchecked", "?? scale  never checked as it is now"),
        ([(b"other", True)], "unchecked", "never checked as it is now"),
        ([(b"mine", True)], "passed", "ok scale  passed when you last checked it"),
        ([(b"mine", True), (b"mine", False)], "failed", "!! scale  did not pass"),
    ],
)
def test_how_each_stands(
    kt: Kt, tiny: Path, work: Path, checked: list[tuple[bytes, bool]], state: str, words: str
) -> None:
    begin(tiny, work, "scale", b"mine")
    for source, passed in checked:
        check("scale", source, passed)
    done = kt("submit", "--id", "ada")
    assert (done.code, done.out) == (0, "ada.zip\n")
    assert words in done.err and "-- guess  left out: you have not begun it" in done.err
    assert json.loads(kt("submit", "--id", "ada", "--json").out)["exercises"] == [
        {"slug": "scale", "state": state}, {"slug": "guess", "state": "missing"},
    ]  # fmt: skip


def test_an_untouched_starter_is_left_out(kt: Kt, tiny: Path, work: Path, here: Path) -> None:
    begin(tiny, work, "scale", load_set(tiny).exercise("scale").starter.encode())
    begin(tiny, work, "guess", b"loads_x = 1\n")
    done = kt("submit")
    assert done.out == "tiny-submission.zip\n" and "it is the starter, unchanged" in done.err
    assert set(read_archive(here / "tiny-submission.zip")) == {MANIFEST, "02_blocks/01_guess.py"}


def test_only_what_is_named(kt: Kt, tiny: Path, work: Path, here: Path) -> None:
    begin(tiny, work, "scale", b"mine")
    begin(tiny, work, "guess", b"loads_x = 1\n")
    assert kt("submit", "guess", "guess", "-o", "my.zip").code == 0
    assert set(read_archive(here / "my.zip")) == {MANIFEST, "02_blocks/01_guess.py"}
    assert kt("submit", "gues").code == 2


def test_only_an_earlier_submission_is_replaced(kt: Kt, tiny: Path, work: Path, here: Path) -> None:
    begin(tiny, work, "scale", b"one")
    assert kt("submit", "--id", "ada").code == 0
    begin(tiny, work, "scale", b"two")
    assert kt("submit", "--id", "ada").code == 0
    assert read_archive(here / "ada.zip")["01_refs/01_scale.py"] == b"two"
    (here / "ada.zip").write_text("mine")
    done = kt("submit", "--id", "ada")
    assert done.code == 2 and "is no submission" in done.err and (here / "ada.zip").read_text() == "mine"


def test_an_id_that_is_no_name(kt: Kt, tiny: Path, work: Path, here: Path) -> None:
    begin(tiny, work, "scale", b"one")
    done = kt("submit", "--id", "../ada", "--json")
    assert done.code == 2 and "cannot be a student's id" in json.loads(done.out)["message"]
    assert not list(here.parent.glob("ada*"))


def test_a_place_that_cannot_be_written(kt: Kt, tiny: Path, work: Path, here: Path) -> None:
    begin(tiny, work, "scale", b"one")
    (here / "file").write_text("")
    done = kt("submit", "-o", "file/below.zip")
    assert done.code == 2 and "cannot be written" in done.err


@pytest.mark.parametrize("student", ["=1+1", "+ada", "-ada", "@ada", "a:b", "a*", "ada.", " ada", "a\tb", "a\nb", ""])
def test_an_id_that_a_table_or_a_file_system_would_misread(kt: Kt, tiny: Path, work: Path, student: str) -> None:
    begin(tiny, work, "scale", b"one")
    done = kt("submit", "--id", student)
    assert done.code == 2 and "cannot be a student's id" in done.err


def test_an_address_is_an_id(kt: Kt, tiny: Path, work: Path, here: Path) -> None:
    begin(tiny, work, "scale", b"one")
    assert kt("submit", "--id", "ada+1@example.org").code == 0


def test_an_untouched_starter_is_nothing_to_submit(kt: Kt, tiny: Path, work: Path, here: Path) -> None:
    exercise = load_set(tiny).exercise("scale")
    begin(tiny, work, "scale", exercise.starter.encode())
    check("scale", exercise.starter.encode(), False)
    done = kt("submit")
    assert done.code == 1 and "what you have is the starter, unchanged (scale)" in done.err
    assert f"`kerneltutor next --set {tiny}`" in done.err


def test_list_names_the_archive_and_not_the_cache(kt: Kt, tiny: Path, here: Path) -> None:
    assert kt("set", "pack", "--student", "-o", "homework.zip").code == 0
    done = kt("list", "--set", "homework.zip")
    assert done.err == "A tiny set (tiny, archive homework.zip): 0 of 2 solved.\n"
