"""Packs: the same bytes for the same set, and nothing in a student's that gives an answer away."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tutor.protocol import Figures
from tutor.sets import SetError, load_set, open_set
from tutor.sets.archive import archive_files
from tutor.sets.key import seed_key
from tutor.sets.pack import pack
from tutor.sets.packed import MANIFEST, Audience, Pack, read_pack

SECRETS = (b"x * 2\n", b"secret", b"multiplies by three")


def files_of(root: Path, audience: Audience) -> dict[str, bytes]:
    return archive_files(pack(load_set(root), audience)[1], "pack.zip")


def test_a_students_pack_holds_the_exercises_alone(tiny: Path) -> None:
    key = seed_key(load_set(tiny)).hex().encode()
    files = files_of(tiny, "student")
    assert {name.split("/")[0] for name in files} == {"exercises", MANIFEST}
    content = b"".join(files.values())
    for secret in (*SECRETS[1:], key):
        assert secret not in content


def test_an_instructors_pack_holds_everything(tiny: Path) -> None:
    seed_key(load_set(tiny))
    files = files_of(tiny, "instructor")
    content = b"".join(files.values())
    assert all(secret in content for secret in SECRETS)
    assert files["solutions/seed.key"] == (tiny / "solutions/seed.key").read_bytes()


def test_the_hash_is_that_of_the_folder_and_of_both_packs(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNELTUTOR_DATA", str(tmp_path / "data"))
    mine = load_set(tiny)
    for audience in ("student", "instructor"):
        manifest, data = pack(mine, audience)
        archive = tmp_path / f"{audience}.zip"
        archive.write_bytes(data)
        theirs = open_set(archive)
        assert manifest.set_sha256 == mine.public_sha256 == theirs.public_sha256
        assert (manifest.content_sha256 == theirs.sha256 == mine.sha256) == (audience == "instructor")
        assert (manifest.set, manifest.title, manifest.audience) == ("tiny", "A tiny set", audience)


def test_the_same_bytes_wherever_and_whenever(tiny: Path, tmp_path: Path) -> None:
    data = pack(load_set(tiny), "instructor")[1]
    copy = shutil.copytree(tiny, tmp_path / "elsewhere")
    for path in copy.rglob("*"):
        path.touch()
    (copy / "exercises/01_refs/01_scale/__pycache__").mkdir()
    (copy / "exercises/01_refs/01_scale/__pycache__/oracle.pyc").write_bytes(b"x")
    (copy / "exercises/.DS_Store").write_bytes(b"x")
    assert pack(load_set(copy), "instructor")[1] == data
    assert str(tiny).encode() not in data


@pytest.mark.parametrize(
    "name", ["hidden.toml", "reference.py", "right_one.py", "wrong_a.py", "mutants.toml", "my.key"]
)
def test_what_belongs_into_solutions_is_not_handed_out(tiny: Path, name: str) -> None:
    (tiny / "exercises/01_refs/01_scale" / name).write_text("x")
    with pytest.raises(SetError, match=f"{name} would be given to students"):
        pack(load_set(tiny), "student")


def test_links_are_not_packed(tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "private").write_text("x")
    (tiny / "exercises/notes.txt").symlink_to(tmp_path / "private")
    with pytest.raises(SetError, match=r"notes\.txt is a link"):
        pack(load_set(tiny), "student")


@pytest.mark.parametrize(
    ("name", "audience", "words"),
    [
        ("exercises/01_refs/01_scale/lesson.md", "student", "lesson.md: the file is missing"),
        ("exercises/01_refs/01_scale/oracle.py", "student", "oracle.py: the file is missing"),
        ("exercises/02_blocks/01_guess/kernels.py", "student", "kernels.py: the file is missing"),
        ("exercises/02_blocks/01_guess/exercise.toml", "student", "exercise.toml: the file is missing"),
        ("solutions/01_refs/01_scale/reference.py", "instructor", "reference.py: the file is missing"),
    ],
)
def test_a_set_that_is_not_whole_is_not_packed(tiny: Path, name: str, audience: Audience, words: str) -> None:
    (tiny / name).unlink()
    with pytest.raises(SetError) as caught:
        pack(load_set(tiny), audience)
    assert words in caught.value.message


def test_a_broken_hidden_case_is_not_packed(tiny: Path, edit: Callable[..., None]) -> None:
    edit("solutions/01_refs/01_scale/hidden.toml", "sizes", "size")
    with pytest.raises(SetError, match=r"case\[0\]\.size: is not a known key"):
        pack(load_set(tiny), "instructor")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "cannot be read"),
        (b'{"schema": "kerneltutor.pack/1"}', "missing required field"),
        (b"[" * 100_000, "cannot be read"),
    ],
)
def test_what_is_no_manifest(text: bytes, words: str) -> None:
    with pytest.raises(SetError, match=words):
        read_pack(text, "hw.zip")


def test_a_manifest_of_another_version(tiny: Path) -> None:
    manifest: Pack = msgspec.structs.replace(pack(load_set(tiny), "student")[0], schema="kerneltutor.pack/9")
    with pytest.raises(SetError, match=r"this kerneltutor knows kerneltutor\.pack/1"):
        read_pack(msgspec.json.encode(manifest), "hw.zip")


def test_figures_go_to_students_and_come_back(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELTUTOR_DATA", str(tmp_path / "data"))
    figures = {"scale": [Figures("small", 1, 8192), Figures("wide", 4, None)]}
    for audience, known in (("student", tuple(figures["scale"])), ("instructor", ())):
        manifest, data = pack(load_set(tiny), audience, figures)
        assert manifest.set_sha256 == load_set(tiny).public_sha256
        archive = tmp_path / f"{audience}.zip"
        archive.write_bytes(data)
        assert open_set(archive).exercise("scale").figures == known
        assert open_set(archive).exercise("guess").figures == ()


def test_figures_that_are_none_break_no_folder_silently(tiny: Path) -> None:
    (tiny / MANIFEST).write_text('{"figures": {"scale": 3}}')
    with pytest.raises(SetError, match=r"pack\.json cannot be read"):
        load_set(tiny)
