"""Archives from anyone: what is good is read, everything else is refused with a reason and touches nothing."""

from __future__ import annotations

import gzip
import io
import stat
import struct
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutor.sets.archive import ArchiveError, ArchiveLimits, archive_files, read_archive, write_archive

GOOD = {"a/b.py": b"print(1)\n", "c.txt": b"", "é/ü.md": b"\x00\xff"}
SMALL = ArchiveLimits(files=20, file_bytes=1 << 20, total_bytes=2 << 20, archive_bytes=1 << 20)


def tar(mode: str = "w:gz", *members: tarfile.TarInfo, files: dict[str, bytes] | None = None) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in (files or {}).items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
        for member in members:
            archive.addfile(member)
    return target.getvalue()


def zipped(*entries: tuple[zipfile.ZipInfo | str, bytes], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", how) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return target.getvalue()


def special(kind: bytes, target: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo("trap")
    member.type, member.linkname = kind, target
    return member


def zip_link() -> bytes:
    entry = zipfile.ZipInfo("trap")
    entry.create_system = 3
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return zipped((entry, b"/etc/passwd"))


def encrypted() -> bytes:
    data = bytearray(zipped(("a.py", b"x")))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


def repeated() -> bytes:
    with pytest.warns(UserWarning, match="Duplicate name"):
        return zipped(("a.py", b"1"), ("a.py", b"2"))


def lying_zip() -> bytes:
    """A zip whose list of contents says that ten megabytes are one byte."""
    data = bytearray(zipped(("a.py", bytes(10 << 20))))
    place = data.index(b"PK\x01\x02") + 24
    data[place : place + 4] = struct.pack("<I", 1)
    return bytes(data)


def long_header() -> bytes:
    """A tar whose header of a long name is larger than everything that may be in it."""
    member = tarfile.TarInfo("././@LongLink")
    member.type, member.size = tarfile.GNUTYPE_LONGNAME, 600 << 20
    target = io.BytesIO()
    with gzip.GzipFile(fileobj=target, mode="wb") as out:
        out.write(member.tobuf(tarfile.GNU_FORMAT))
        for _ in range(8):
            out.write(bytes(1 << 20))
    return target.getvalue()


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2"])
def test_tar(mode: str) -> None:
    assert archive_files(tar(mode, files=GOOD), "x") == GOOD


def test_names_with_a_dot_in_front_are_plain() -> None:
    assert archive_files(tar(files={"./a/./b": b"1"}), "x") == {"a/b": b"1"}


def test_zip_round_trip_and_the_same_bytes_again() -> None:
    data = write_archive(GOOD)
    assert archive_files(data, "x") == GOOD
    assert write_archive(dict(reversed(GOOD.items()))) == data


def test_what_is_written_tells_nothing_of_its_maker() -> None:
    entries = zipfile.ZipFile(io.BytesIO(write_archive(GOOD, secret=frozenset(["c.txt"])))).infolist()
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
    assert {entry.filename: entry.external_attr >> 16 & 0o777 for entry in entries}["c.txt"] == 0o600
    assert all(entry.extra == b"" and entry.comment == b"" for entry in entries)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (tar(files={"../up": b""}), 'the name "../up" does not stay inside'),
        (tar(files={"/etc/passwd": b""}), 'the name "/etc/passwd"'),
        (tar(files={"a/../../up": b""}), "does not stay inside"),
        (tar(files={"a\\..\\up": b""}), "does not stay inside"),
        (tar(files={"a\x1b[2J": b""}), r'the name "a\x1b[2J"'),
        (tar(files={"a\u202eb": b""}), r'the name "a\u202eb"'),
        (tar(files={"/".join("a" * 40): b""}), "does not stay inside"),
        (tar(files={"a.py": b"1", "./a.py": b"2"}), '"a.py" is in it twice'),
        (tar(files={"a.py": b"1", "A.py": b"2"}), '"A.py" is in it twice'),
        (tar("w:gz", special(tarfile.SYMTYPE, "/etc/passwd")), '"trap" is a link or a special file'),
        (tar("w:gz", special(tarfile.LNKTYPE, "/etc/passwd")), "is a link"),
        (tar("w:gz", special(tarfile.FIFOTYPE)), "is a link or a special file"),
        (tar("w:gz", special(tarfile.CHRTYPE)), "is a link or a special file"),
        (tar(files={"big": bytes((1 << 20) + 1)}), '"big" is larger than 1 MiB'),
        (tar(files={str(i): bytes(1 << 20) for i in range(3)}), "unpacked it is too large"),
        (tar(files={str(i): b"" for i in range(21)}), "holds more than 20 files"),
        (long_header(), "unpacked it is too large"),
        (zipped(("../up", b"")), 'the name "../up"'),
        (zipped(("/abs", b"")), 'the name "/abs"'),
        (zipped(("big", bytes((1 << 20) + 1))), '"big" is larger than 1 MiB'),
        (zipped(*((str(i), bytes(1 << 20)) for i in range(3))), "larger than 2 MiB together"),
        (zipped(*((str(i), b"") for i in range(21))), "holds more than 20 files"),
        (zipped(("a", b"1"), how=zipfile.ZIP_LZMA), "compressed in an unusual way"),
        (zip_link(), '"trap" is a link'),
        (encrypted(), '"a.py" is encrypted'),
        (lying_zip(), "broken one"),
        (b"", "broken one"),
        (b"PK\x03\x04 and no more", "broken one"),
        (b"\x1f\x8b\x08\x00 and no more", "broken one"),
        (b"no archive at all" * 99, "broken one"),
        (tar(files=GOOD)[:-30], "broken one"),
    ],
    ids=lambda value: value if isinstance(value, str) else "archive",  # gzip writes the time into its bytes
)
def test_refused(data: bytes, reason: str) -> None:
    with pytest.raises(ArchiveError) as caught:
        archive_files(data, "hw.zip", SMALL)
    assert caught.value.message.startswith("hw.zip: ")
    assert reason in caught.value.message


def test_repeated_in_a_zip() -> None:
    with pytest.raises(ArchiveError, match="is in it twice"):
        archive_files(repeated(), "x")


def test_too_large_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "hole.zip").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ArchiveError, match="larger than 64 MiB"):
        read_archive(tmp_path / "hole.zip")
    with pytest.raises(ArchiveError, match=r"none\.zip: cannot be read: No such file"):
        read_archive(tmp_path / "none.zip")


@given(st.data())
def test_damage_is_refused_or_harmless(data: st.DataObject) -> None:
    whole = bytearray(data.draw(st.sampled_from([write_archive(GOOD), tar("w", files=GOOD), tar(files=GOOD)])))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = archive_files(bytes(whole), "x", SMALL)
    except ArchiveError:
        return
    assert all(not name.startswith("/") and ".." not in name.split("/") for name in found)
