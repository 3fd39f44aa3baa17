"""A set is found as a folder, an archive or an installed package; none of its Python runs while it is looked for."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.tiny_set import write_tiny
from tutor.sets import SetError, UnknownSet, locate_set, open_set
from tutor.sets.archive import ArchiveError, write_archive
from tutor.sets.exercise import set_files
from tutor.sets.pack import pack

TRAP = "raise SystemExit('a package of a set was imported')\n"


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KERNELTUTOR_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("KERNELTUTOR_SET", raising=False)
    return tmp_path / "data"


def files_of(root: Path, top: str = "") -> dict[str, bytes]:
    return {
        f"{top}{folder}/{name}": path.read_bytes()
        for folder in ("exercises", "solutions")
        for name, path in set_files(root / folder)
    }


def write_tar(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


# ---------------------------------------------------------------- folders and the variable


def test_a_folder_by_any_of_its_names(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (tiny, tiny / "exercises", tiny / "exercises/set.toml"):
        assert locate_set(place) == (tiny.resolve(), "folder")
    monkeypatch.chdir(tiny)
    assert locate_set(".") == (tiny.resolve(), "folder")
    assert locate_set("exercises") == (tiny.resolve(), "folder")


def test_the_variable_stands_where_no_option_does(tiny: Path) -> None:
    variable = {"KERNELTUTOR_SET": str(tiny)}
    assert locate_set(None, variable).root == tiny.resolve()
    assert locate_set("pallas", variable).origin == "built-in"
    assert locate_set(None, {"KERNELTUTOR_SET": ""}).origin == "built-in"


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("palas", UnknownSet, 'Did you mean "pallas"?'),
        ("none/such", UnknownSet, 'There is no exercise set "none/such". Give a folder'),
        ("pallas.zip", UnknownSet, 'There is no exercise set "pallas.zip". Give a folder'),
    ],
)
def test_unknown(name: str, error: type[SetError], words: str) -> None:
    with pytest.raises(error) as caught:
        locate_set(name)
    assert words in f"{caught.value.message} {caught.value.hint}"


# ---------------------------------------------------------------- archives


@pytest.mark.parametrize("top", ["", "hw1/", "a/b/"])
def test_an_archive_made_by_hand(tiny: Path, tmp_path: Path, top: str) -> None:
    opened = open_set(write_tar(tmp_path / "hw1.tgz", {**files_of(tiny, top), f"{top}notes.txt": b"", "x/y": b""}))
    assert (opened.id, opened.slugs, opened.broken, opened.origin) == ("tiny", ["scale", "guess"], (), "archive")
    assert [c.name for c in opened.exercise("scale").cases(hidden=True)] == ["small", "wide", "secret"]
    assert sorted(p.name for p in opened.root.iterdir()) == ["exercises", "solutions"]


def test_an_archive_is_unpacked_once_and_known_by_its_id(tiny: Path, tmp_path: Path, data: Path) -> None:
    archive = tmp_path / "hw.zip"
    archive.write_bytes(write_archive(files_of(tiny)))
    with pytest.raises(UnknownSet):
        locate_set("tiny")
    first = locate_set(archive).root
    mark = first / "exercises/01_refs/01_scale/lesson.md"
    mark.write_text("# Seen\n")
    assert locate_set(archive).root == first and mark.read_text() == "# Seen\n"
    assert locate_set("tiny") == (first, "archive")
    assert [p.name for p in (data / "sets").iterdir()] == [first.name]


def test_the_archive_used_last_has_the_name(tiny: Path, tmp_path: Path) -> None:
    roots = []
    for number, title in enumerate(("Old", "New")):
        toml = tiny / "exercises/set.toml"
        toml.write_text(toml.read_text().replace("A tiny set", title))
        archive = tmp_path / f"{number}.zip"
        archive.write_bytes(write_archive(files_of(tiny)))
        roots.append(locate_set(archive).root)
        os.utime(roots[-1], (1000 + number, 1000 + number))
    assert locate_set("tiny").root == roots[1]
    locate_set(tmp_path / "0.zip")
    assert locate_set("tiny").root == roots[0]


def test_half_a_copy_is_made_again(tiny: Path, tmp_path: Path) -> None:
    archive = tmp_path / "hw.zip"
    archive.write_bytes(write_archive(files_of(tiny)))
    root = locate_set(archive).root
    (root / "exercises/set.toml").unlink()
    assert open_set(archive).slugs == ["scale", "guess"]


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"readme.md": b""}, "holds no exercise set."),
        ({"a/exercises/set.toml": b"", "b/exercises/set.toml": b""}, "several exercise sets"),
        ({"exercises/set.toml": b"", "pack.json": b"[]"}, "pack.json cannot be read"),
        ({"exercises/set.toml": b"", "../../up": b""}, "does not stay inside"),
    ],
)
def test_archives_that_are_no_sets(tmp_path: Path, data: Path, files: dict[str, bytes], words: str) -> None:
    with pytest.raises(SetError, match=words):
        locate_set(write_tar(tmp_path / "hw.tgz", files))
    assert not list((data / "sets").glob("*")) and not (tmp_path / "up").exists()


def test_a_file_that_is_no_archive(tiny: Path) -> None:
    with pytest.raises(ArchiveError, match=r"lesson\.md: this is no archive"):
        locate_set(tiny / "exercises/01_refs/01_scale/lesson.md")


def test_a_pack_that_was_changed_is_refused(tiny: Path, tmp_path: Path) -> None:
    from tutor.sets.archive import archive_files

    files = archive_files(pack(open_set(tiny), "student")[1], "x")
    files["exercises/01_refs/01_scale/oracle.py"] += b"# easier\n"
    archive = tmp_path / "hw.zip"
    archive.write_bytes(write_archive(files))
    with pytest.raises(ArchiveError, match="not those that were packed"):
        locate_set(archive)


def test_a_cache_that_cannot_be_made(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KERNELTUTOR_DATA", str(tmp_path / "file"))
    archive = tmp_path / "hw.zip"
    archive.write_bytes(write_archive(files_of(tiny)))
    with pytest.raises(SetError, match=r"hw\.zip cannot be unpacked into"):
        locate_set(archive)


# ---------------------------------------------------------------- packages


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder of installed packages with the distribution `Course-Work`, whose package `course.week1` is a set."""
    site = tmp_path / "site"
    write_tiny(site / "course/week1")
    for name in ("course", "course/week1"):
        (site / name / "__init__.py").write_text(TRAP)
    info = site / "course_work-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: Course-Work\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[kerneltutor.sets]\nweek-one = course.week1\nempty = course.none\n")
    return site


def program(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The program, in an environment where the packages in `site` are installed."""
    environment = {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, "-m", "tutor", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)


@pytest.mark.parametrize("name", ["week-one", "course_work", "Course-Work", "tiny"])
def test_a_package_by_any_of_its_names(package: Path, name: str) -> None:
    done = program(package, "list", "--set", name)
    assert done.returncode == 0 and "scale" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("week-on", 'Did you mean "week-one"?'),
        ("Course-Wor", 'Did you mean "Course-Work"?'),
        ("empty", 'The package of the set "empty" (course.none) holds no'),
    ],
)
def test_packages_that_are_not_there(package: Path, name: str, words: str) -> None:
    done = program(package, "list", "--set", name)
    assert done.returncode == 2 and words in done.stderr


def test_a_package_of_several_sets(package: Path) -> None:
    write_tiny(package / "course/week2")
    points = package / "course_work-1.0.dist-info/entry_points.txt"
    points.write_text(points.read_text() + "week-two = course.week2\n")
    done = program(package, "list", "--set", "course-work")
    assert done.returncode == 2 and "Choose one of them: week-one, week-two." in done.stderr
    assert program(package, "list", "--set", "week-two").returncode == 0


def test_the_trap_would_be_seen(package: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import course"], capture_output=True, text=True, env={"PYTHONPATH": str(package)}
    )
    assert "a package of a set was imported" in done.stderr
