"""Zip and tar archives from anyone: read whole into memory, within limits, or refused with a reason.

Nothing is ever unpacked by the archive libraries themselves. Names that lead out of a folder, links, devices, encrypted
and repeated files are refused, and no more is decompressed than the limits allow, whatever the headers promise.
"""

from __future__ import annotations

import bz2
import functools
import gzip
import io
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tutor.sets.errors import SetError

_BROKEN = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, struct.error,
    OSError, EOFError, ValueError, RuntimeError, LookupError, OverflowError,
)  # fmt: skip
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_ZIP_ENTRY = b"PK\x01\x02"  # how each entry of a zip's list of contents begins
LINK = "is a link or a special file."
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the first moment that a zip can name


class ArchiveError(SetError):
    """An archive that cannot be read, or holds what it must not."""

    code = "archive"


@dataclass(frozen=True)
class ArchiveLimits:
    """What an archive may hold: number of files, bytes of one file, of all files, and of the archive itself."""

    files: int = 10_000
    file_bytes: int = 16 << 20
    total_bytes: int = 128 << 20
    archive_bytes: int = 64 << 20


class Refused(Exception):
    """What is in an archive must not be there; the words end its sentence."""


@dataclass(frozen=True)
class Member:
    """One file of an archive. `name` is as it stands there. `problem`: why it must not be read, the end of a sentence.
    `read` gives its bytes, or `Refused` if there are too many."""

    name: str
    problem: str | None
    read: Callable[[], bytes]


def read_archive(path: Path, limits: ArchiveLimits = ArchiveLimits()) -> dict[str, bytes]:
    """The regular files of a zip or tar archive (also gzip or bzip2), by name, in the archive's order.

    What it is follows from its content. `ArchiveError` says why it is refused, and names the file inside."""
    return archive_files(read_bytes(path, limits), str(path), limits)


def read_bytes(path: Path, limits: ArchiveLimits = ArchiveLimits()) -> bytes:
    """The bytes of an archive; `ArchiveError` if it cannot be read or is too large."""
    try:
        if path.stat().st_size > limits.archive_bytes:
            raise ArchiveError(f"{path}: the archive is larger than {_mib(limits.archive_bytes)}.")
        return path.read_bytes()
    except OSError as error:
        raise ArchiveError(f"{path}: cannot be read: {error.strerror}.") from None


def archive_files(data: bytes, name: str, limits: ArchiveLimits = ArchiveLimits()) -> dict[str, bytes]:
    """Like `read_archive`, for an archive in memory; `name` is only for messages."""
    found: dict[str, bytes] = {}
    folded: set[str] = set()
    total = 0
    try:
        for member in members(data, limits):
            inner = _inner_name(member.name)
            if member.problem is not None:
                raise Refused(f'"{_shown(member.name)}" {member.problem}')
            if inner.casefold() in folded:
                raise Refused(f'"{inner}" is in it twice.')
            folded.add(inner.casefold())
            content = member.read()
            total += len(content)
            if total > limits.total_bytes:
                raise Refused(f"its files are larger than {_mib(limits.total_bytes)} together.")
            if len(found) == limits.files:
                raise Refused(f"it holds more than {limits.files} files.")
            found[inner] = content
    except Refused as refused:
        raise ArchiveError(f"{name}: the archive is refused: {refused}") from None
    except _BROKEN as error:
        hint = "Archives are zip, tar, tar.gz or tar.bz2."
        raise ArchiveError(
            f"{name}: this is no archive, or a broken one ({error or type(error).__name__}).", hint
        ) from None
    return found


def members(data: bytes, limits: ArchiveLimits) -> Iterator[Member]:
    """The files of an archive, one by one, for who does not want to refuse all of it for one of them.

    Raises `Refused`, or whatever the libraries make of a broken archive. A file is read before the next one is asked
    for, or not at all."""
    return _zip(data, limits) if data.startswith(_ZIP) else _tar(data, limits)


def write_archive(files: Mapping[str, bytes], *, secret: frozenset[str] = frozenset()) -> bytes:
    """A zip of these files that depends on nothing else: sorted, without times, owners or places. (The same zlib gives
    the same bytes.) `secret` files are unpacked for their owner alone."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.create_system = 3  # Unix, so that the mode counts wherever it was made
            entry.external_attr = (stat.S_IFREG | (0o600 if name in secret else 0o644)) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[name])
    return target.getvalue()


def _zip(data: bytes, limits: ArchiveLimits) -> Iterator[Member]:
    if data.count(_ZIP_ENTRY) > limits.files:  # before the library makes an object of each
        raise Refused(f"it holds more than {limits.files:,} files.")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for entry in archive.infolist():
            kind = stat.S_IFMT(entry.external_attr >> 16)
            if entry.is_dir() or kind == stat.S_IFDIR:
                continue
            problem: str | None = None
            if kind not in (0, stat.S_IFREG):
                problem = LINK
            elif entry.flag_bits & 0x1:
                problem = "is encrypted."
            elif entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                problem = "is compressed in an unusual way."
            yield Member(entry.filename, problem, functools.partial(_read_zipped, archive, entry, limits))


def _read_zipped(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, limits: ArchiveLimits) -> bytes:
    with archive.open(entry) as file:
        return _read(file, entry.filename, limits)


def _tar(data: bytes, limits: ArchiveLimits) -> Iterator[Member]:
    # Headers count as well: those of long names are read whole by the library.
    plain = _Bounded(_decompressed(data), limits.total_bytes + 4096 * limits.files)
    with tarfile.open(fileobj=plain, mode="r|", format=tarfile.PAX_FORMAT) as archive:
        for member in archive:
            if member.isdir():
                continue
            problem = None if member.isreg() and not member.issparse() else LINK
            yield Member(member.name, problem, functools.partial(_read_tarred, archive, member, limits))


def _read_tarred(archive: tarfile.TarFile, member: tarfile.TarInfo, limits: ArchiveLimits) -> bytes:
    file = archive.extractfile(member)
    assert file is not None  # a regular file has content
    return _read(file, member.name, limits)


def _decompressed(data: bytes) -> io.BufferedIOBase:
    if data.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=io.BytesIO(data))
    if data.startswith(b"BZh"):
        return bz2.BZ2File(io.BytesIO(data))
    return io.BytesIO(data)


class _Bounded(io.RawIOBase):
    """A stream that gives no more than `limit` bytes, whatever is behind it."""

    def __init__(self, source: io.BufferedIOBase, limit: int) -> None:
        self._source = source
        self._left = limit

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        found = self._source.read(self._left + 1 if size < 0 else min(size, self._left + 1))
        self._left -= len(found)
        if self._left < 0:
            raise Refused("unpacked it is too large.")
        return found


def _read(file: IO[bytes], name: str, limits: ArchiveLimits) -> bytes:
    content = file.read(limits.file_bytes + 1)
    if len(content) > limits.file_bytes:
        raise Refused(f'"{_shown(name)}" is larger than {_mib(limits.file_bytes)}.')
    return content


def _inner_name(raw: str) -> str:
    """The name with its `./` left out; refused if it does not stay inside, or is no plain name."""
    parts = [part for part in raw.split("/") if part != "."]
    bad = not parts or any(part in ("", "..") or len(part.encode(errors="replace")) > 255 for part in parts)
    if bad or len(parts) > 32 or "\\" in raw or not raw.isprintable():
        raise Refused(f'the name "{_shown(raw)}" does not stay inside it.')
    return "/".join(parts)


def _shown(name: str) -> str:
    return ascii(name[:200])[1:-1]


def _mib(size: int) -> str:
    return f"{size >> 20} MiB"
