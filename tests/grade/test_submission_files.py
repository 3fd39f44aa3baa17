"""Reading what strangers hand in: whatever it holds, only attempts come out, soon, and nothing is written."""

from __future__ import annotations

import io
import os
import socket
import struct
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from tutor.grade import files
from tutor.grade.files import Contents, Unreadable, read_archive, read_folder, read_regular


def wanted(name: PurePosixPath) -> bool:
    return name.name == "scale.py"


def read(path: Path) -> Contents:
    return read_archive(path, wanted)


def found(contents: Contents) -> dict[str, bytes | None]:
    return {str(file.name): file.data for file in contents.files}


def make_zip(path: Path, *members: tuple[str | zipfile.ZipInfo, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return path


def make_tar(path: Path, *members: tuple[str, bytes, bytes], mode: str = "w:gz") -> Path:
    """Members are (name, type, data or the target of a link)."""
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, kind, data in members:
            member = tarfile.TarInfo(name)
            member.type = kind
            if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
                member.linkname = data.decode()
                archive.addfile(member)
            else:
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
    return path


REG = tarfile.REGTYPE


def test_a_plain_archive_of_every_kind(tmp_path: Path) -> None:
    zipped = make_zip(tmp_path / "a.zip", ("deep/er/scale.py", b"x"), ("notes.txt", b"y"))
    tarred = make_tar(tmp_path / "a.tar", ("scale.py", REG, b"x"), mode="w")
    gzipped = make_tar(tmp_path / "a.tar.gz", ("./mine/scale.py", REG, b"x"))
    assert found(read(zipped)) == {"deep/er/scale.py": b"x"}
    assert found(read(tarred)) == {"scale.py": b"x"}
    assert found(read(gzipped)) == {"mine/scale.py": b"x"}


@pytest.mark.parametrize(
    "name", ["../scale.py", "/scale.py", "a/../../scale.py", "C:/scale.py", "..\\scale.py", "d/" * 40 + "scale.py",
             "x" * 2000 + "/scale.py"],
)  # fmt: skip
def test_names_that_lead_elsewhere_are_left_out(name: str, tmp_path: Path) -> None:
    for contents in (
        read(make_zip(tmp_path / "a.zip", (name, b"x"))),
        read(make_tar(tmp_path / "a.tar", (name, REG, b"x"), mode="w")),
    ):
        assert found(contents) == {}
        assert [flag.code for flag in contents.flags()] == ["KT806"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar", "a.zip"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_a_tar_are_left_out(kind: bytes, tmp_path: Path) -> None:
    contents = read(make_tar(tmp_path / "a.tar.gz", ("scale.py", kind, b"/etc/passwd")))
    assert [(file.data, file.problem) for file in contents.files] == [(None, "It is a link or a special file.")]
    other = read(make_tar(tmp_path / "b.tar.gz", ("other.py", kind, b"/etc/passwd")))
    assert other.files == [] and other.left_out == ["other.py: is a link or a special file."]


def test_a_link_in_a_zip_is_left_out(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("scale.py")
    link.external_attr = 0o120777 << 16
    assert found(read(make_zip(tmp_path / "a.zip", (link, b"/etc/passwd")))) == {"scale.py": None}


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    """256 MiB in an attempt and as much beside it: one is cut off, the other never looked at."""
    zeros = b"\0" * (32 << 20)
    contents = read(make_zip(tmp_path / "a.zip", ("scale.py", zeros), ("other.bin", zeros)))
    assert found(contents) == {"scale.py": None}
    assert contents.files[0].problem == "It is larger than 1 MiB."


def test_a_zip_that_lies_about_its_sizes(tmp_path: Path) -> None:
    """The directory says 5 bytes; what is there is 32 MiB. No more than the limit is ever read."""
    path = make_zip(tmp_path / "a.zip", ("scale.py", b"\0" * (32 << 20)))
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", 5)
    path.write_bytes(data)
    [file] = read(path).files
    assert file.data is None or len(file.data) <= 5


def test_a_tar_bomb_ends_at_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LIMITS", replace(files.LIMITS, total_bytes=1 << 20, files=10))
    path = make_tar(tmp_path / "a.tar.gz", ("big.bin", REG, b"\0" * (8 << 20)), ("scale.py", REG, b"x"))
    assert path.stat().st_size < 100_000
    with pytest.raises(Unreadable, match="Unpacked it is too large"):
        read(path)


def test_a_tar_header_that_claims_gigabytes_of_names(tmp_path: Path) -> None:
    """A long-name header is read into memory by the library: here it says 4 GiB, and the file ends at once."""
    header = tarfile.TarInfo("././@LongLink")
    header.type = tarfile.GNUTYPE_LONGNAME
    header.size = 4 << 30
    path = tmp_path / "a.tar"
    path.write_bytes(header.tobuf(tarfile.GNU_FORMAT) + b"x" * 4096)
    with pytest.raises(Unreadable):
        read(path)


def test_too_many_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LIMITS", replace(files.LIMITS, files=50))
    many = [(f"{number}.txt", b"") for number in range(60)]
    folder = tmp_path / "folder"
    folder.mkdir()
    for name, _ in many:
        (folder / name).touch()
    with pytest.raises(Unreadable, match="more than 50 files"):
        read(make_zip(tmp_path / "a.zip", *many))
    with pytest.raises(Unreadable, match="more than 50 files"):
        read(make_tar(tmp_path / "a.tar", *((name, REG, data) for name, data in many), mode="w"))
    with pytest.raises(Unreadable, match="more than 50 files"):
        read_folder(folder, wanted)


def test_too_many_attempts(tmp_path: Path) -> None:
    many = [(f"{number}/scale.py", b"x") for number in range(600)]
    with pytest.raises(Unreadable, match="more than 512 attempts"):
        read(make_zip(tmp_path / "a.zip", *many))


def test_an_archive_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LIMITS", replace(files.LIMITS, archive_bytes=1 << 20))
    (tmp_path / "a.zip").write_bytes(os.urandom((1 << 20) + 1))
    with pytest.raises(Unreadable, match="larger than 1 MiB"):
        read(tmp_path / "a.zip")


def test_an_encrypted_attempt_says_so(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "a.zip", ("scale.py", b"secret"))
    data = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + offset] |= 1
    path.write_bytes(data)
    assert [file.problem for file in read(path).files] == ["It is encrypted."]


def test_a_broken_member_says_so(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "a.zip", ("scale.py", os.urandom(2000)))
    data = bytearray(path.read_bytes())
    data[100:110] = b"\0" * 10
    path.write_bytes(data)
    [file] = read(path).files
    assert file.data is None
    assert file.problem is not None and "broken" in file.problem


@pytest.mark.parametrize("data", [b"", b"PK", b"not an archive", b"\x1f\x8b\x08\0", os.urandom(5000)])
@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz"])
def test_no_archive_at_all(data: bytes, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    try:
        assert found(read(tmp_path / name)) == {}  # an empty tar may be one
    except Unreadable as error:
        assert "cannot be read as an archive" in str(error)


def test_archives_inside_are_not_opened(tmp_path: Path) -> None:
    inner = make_zip(tmp_path / "inner.zip", ("scale.py", b"x")).read_bytes()
    contents = read(make_zip(tmp_path / "a.zip", ("inner.zip", inner)))
    assert found(contents) == {}
    assert contents.left_out == ["inner.zip: an archive inside the submission, not opened"]


def test_what_programs_leave_behind_is_ignored(tmp_path: Path) -> None:
    junk = [
        "__MACOSX/scale.py",
        ".git/scale.py",
        "__pycache__/scale.py",
        ".venv/scale.py",
        "._scale.py",
        "a/.x/scale.py",
    ]
    contents = read(make_zip(tmp_path / "a.zip", *((name, b"x") for name in junk)))
    assert found(contents) == {} and contents.left_out == []
    for name in junk:
        (tmp_path / "folder" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "folder" / name).write_bytes(b"x")
    assert found(read_folder(tmp_path / "folder", wanted)) == {}


def test_a_folder_with_links_pipes_and_sockets(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "scale.py").write_text("x")
    folder = tmp_path / "folder"
    (folder / "pipe").mkdir(parents=True)
    (folder / "scale.py").symlink_to("/etc/passwd")
    (folder / "linked").symlink_to(tmp_path / "outside")
    os.mkfifo(folder / "pipe" / "scale.py")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "s"))
    contents = read_folder(folder, wanted)
    assert found(contents) == {"scale.py": None, "pipe/scale.py": None}
    assert [file.problem for file in contents.files] == [
        "It is no regular file.", "It cannot be opened: Too many levels of symbolic links.",
    ]  # fmt: skip
    assert contents.left_out == ["linked: a link or a special file", "s: a link or a special file"]


def test_a_pipe_or_a_link_is_no_archive(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.zip")
    (tmp_path / "b.zip").symlink_to(tmp_path / "a.zip")
    with pytest.raises(Unreadable, match="no regular file"):
        read_regular(tmp_path / "a.zip", 10)
    with pytest.raises(Unreadable, match="cannot be opened"):
        read_regular(tmp_path / "b.zip", 10)


def test_names_that_are_no_text(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path / "folder")
    os.makedirs(folder + b"/\xff\xfe")  # noqa: PTH103
    Path(os.fsdecode(folder + b"/\xff\xfe/scale.py")).write_bytes(b"x")
    Path(os.fsdecode(folder + b"/\xff\x1b[31m")).symlink_to("/")
    contents = read_folder(tmp_path / "folder", wanted)
    assert [file.data for file in contents.files] == [b"x"]
    assert contents.left_out == ["\\xff\\x1b[31m: a link or a special file"]
