"""The files of one submission, read into memory within limits. Nothing is unpacked to disk, no link is followed.

Whatever a submission holds, reading it ends soon: sizes are counted as bytes arrive and never taken from a header."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from gzip import GzipFile
from pathlib import Path, PurePosixPath
from typing import IO

from tutor.grade.names import ARCHIVES, DEPTH, OTHER_ARCHIVES, inner_name, is_archive, is_junk, readable
from tutor.grade.records import Flag

FILE_BYTES = 1 << 20
"""The largest attempt."""
ARCHIVE_BYTES = 16 << 20
"""The largest archive, as it was handed in."""
UNPACKED_BYTES = 64 << 20
"""The most that a tar archive may unpack to; of a zip only the attempts are unpacked."""
ENTRIES = 10_000
"""The most files and folders in one submission."""
ATTEMPTS = 512
"""The most attempts in one submission."""

type Wanted = Callable[[PurePosixPath], bool]


class Unreadable(Exception):
    """A submission, or a file of it, that cannot be read; `str()` says why, in words for its student."""


@dataclass(frozen=True)
class File:
    """One attempt as it was handed in. `data` is None if it cannot be read; `problem` says why."""

    name: PurePosixPath
    data: bytes | None
    problem: str | None = None


@dataclass
class Contents:
    """What was found in a submission: the wanted files, and what is strange about the others."""

    files: list[File] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    entries: int = 0

    def count(self) -> None:
        """One more entry. `Unreadable` if there are too many."""
        self.entries += 1
        if self.entries > ENTRIES:
            raise Unreadable(f"It holds more than {ENTRIES:,} files.")

    def leave_out(self, name: str, why: str) -> None:
        """Something is not looked at."""
        self.left_out.append(f"{readable(name)[:200]}: {why}")

    def add(self, file: File) -> None:
        """An attempt."""
        if len(self.files) >= ATTEMPTS:
            raise Unreadable(f"It holds more than {ATTEMPTS} attempts.")
        self.files.append(file)

    def flags(self) -> list[Flag]:
        """What the instructor should know."""
        if not self.left_out:
            return []
        shown = sorted(self.left_out)
        more = f"\n… and {len(shown) - 20} more" if len(shown) > 20 else ""
        return [Flag("KT806", "Parts of the submission were left out.", "\n".join(shown[:20]) + more)]


def read_folder(folder: Path, wanted: Wanted) -> Contents:
    """The wanted files anywhere below a folder."""
    found = Contents()
    _walk(folder, PurePosixPath(), wanted, found)
    return found


def read_archive(path: Path, wanted: Wanted) -> Contents:
    """The wanted files of a zip or tar archive. `Unreadable` if it is no archive, is broken, or is too large."""
    data = read_regular(path, ARCHIVE_BYTES)
    read = _read_zip if path.name.lower().endswith(".zip") else _read_tar
    try:
        return read(data, wanted)
    except Unreadable:
        raise
    except Exception as error:  # the bytes are a stranger's: the library may stumble over them in any way
        raise Unreadable(f"It cannot be read as an archive ({type(error).__name__}).") from error


def read_regular(path: Path, limit: int) -> bytes:
    """The bytes of a regular file. `Unreadable` if it is none (a link, a device, a pipe), or larger than `limit`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise Unreadable(f"It cannot be opened: {error.strerror}.") from error
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unreadable("It is no regular file.")
        data = file.read(limit + 1)
    if len(data) > limit:
        raise Unreadable(f"It is larger than {_size(limit)}.")
    return data


def _walk(folder: Path, inner: PurePosixPath, wanted: Wanted, found: Contents) -> None:
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        found.leave_out(str(inner), f"cannot be opened: {error.strerror}")
        return
    for entry in entries:
        found.count()
        name = inner / entry.name
        if is_junk(PurePosixPath(entry.name)):
            continue
        if entry.is_symlink():
            found.leave_out(str(name), "a symbolic link, not followed")
        elif entry.is_dir(follow_symlinks=False):
            if len(name.parts) > DEPTH:
                found.leave_out(str(name), "too deep")
            else:
                _walk(Path(entry.path), name, wanted, found)
        elif not entry.is_file(follow_symlinks=False):
            found.leave_out(str(name), "no regular file")
        elif wanted(name):
            found.add(_file(name, lambda path=Path(entry.path): read_regular(path, FILE_BYTES)))  # type: ignore[misc]
        elif is_archive(entry.name, ARCHIVES + OTHER_ARCHIVES):
            found.leave_out(str(name), "an archive inside the submission, not opened")


def _read_zip(data: bytes, wanted: Wanted) -> Contents:
    # Every entry of the directory begins with this; the library would read it whole before it can be counted.
    if data.count(b"PK\x01\x02") > ENTRIES:
        raise Unreadable(f"It holds more than {ENTRIES:,} files.")
    found = Contents()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            found.count()
            name = _inside(info.filename, wanted, found)
            if name is None or info.is_dir():
                continue
            kind = stat.S_IFMT(info.external_attr >> 16)
            if kind not in (0, stat.S_IFREG):
                found.leave_out(info.filename, "a link or a device")
            elif info.flag_bits & 1:
                found.add(File(name, None, "It is encrypted."))
            elif info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                found.add(File(name, None, "It is packed in a way that is not read here."))
            else:
                found.add(_file(name, lambda info=info: _bounded(archive.open(info))))  # type: ignore[misc]
    return found


def _read_tar(data: bytes, wanted: Wanted) -> Contents:
    found = Contents()
    packed = io.BytesIO(data)
    stream = GzipFile(fileobj=packed) if data[:2] == b"\x1f\x8b" else packed
    with tarfile.open(fileobj=_Counted(stream), mode="r|") as archive:
        for member in archive:
            found.count()
            name = _inside(member.name, wanted, found)
            if name is None or member.isdir():
                continue
            if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
                found.leave_out(member.name, "a link or a device")
                continue
            file = archive.extractfile(member)
            assert file is not None  # it is regular
            found.add(_file(name, lambda file=file: _bounded(file)))  # type: ignore[misc]
    return found


def _inside(raw: str, wanted: Wanted, found: Contents) -> PurePosixPath | None:
    """The place of a member if it is wanted; says why it is left out if it is strange."""
    name = inner_name(raw)
    if name is None:
        found.leave_out(raw, "a name that leads out of the archive, or is too long")
        return None
    if is_junk(name):
        return None
    if wanted(name):
        return name
    if is_archive(name.name, ARCHIVES + OTHER_ARCHIVES):
        found.leave_out(raw, "an archive inside the submission, not opened")
    return None


def _file(name: PurePosixPath, read: Callable[[], bytes]) -> File:
    try:
        return File(name, read())
    except Unreadable as error:
        return File(name, None, str(error))
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        return File(name, None, f"It is broken ({type(error).__name__}).")


def _bounded(file: IO[bytes]) -> bytes:
    data = file.read(FILE_BYTES + 1)
    if len(data) > FILE_BYTES:
        raise Unreadable(f"It is larger than {_size(FILE_BYTES)}.")
    return data


class _Counted(io.RawIOBase):
    """A stream that ends with `Unreadable` when it has given more than `UNPACKED_BYTES`."""

    def __init__(self, stream: io.BufferedIOBase) -> None:
        self._stream = stream
        self._given = 0

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes."""
        data = self._stream.read(size)
        self._given += len(data)
        if self._given > UNPACKED_BYTES:
            raise Unreadable(f"It unpacks to more than {_size(UNPACKED_BYTES)}.")
        return data


def _size(count: int) -> str:
    return f"{count >> 20} MiB"
