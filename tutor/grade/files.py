"""The files of one submission, read into memory within limits. Nothing is unpacked to disk, no link is followed.

Whatever a submission holds, reading it ends soon: sizes are counted as bytes arrive and never taken from a header. One
bad entry does not spoil the others, as it would in an exercise set (`sets.archive`, which reads the archives)."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from tutor.grade.names import DEPTH, inner_name, is_archive, is_junk, readable
from tutor.grade.records import Flag
from tutor.sets.archive import ArchiveLimits, Refused, members

LIMITS = ArchiveLimits(files=10_000, file_bytes=1 << 20, total_bytes=64 << 20, archive_bytes=16 << 20)
"""Files and folders in a submission; bytes of an attempt, of a tar archive when unpacked (of a zip only attempts are
unpacked), and of an archive as it was handed in."""
ATTEMPTS = 512
"""The most attempts in one submission."""
NOT_OPENED = "an archive inside the submission, not opened"

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
        if self.entries > LIMITS.files:
            raise Unreadable(f"It holds more than {LIMITS.files:,} files.")

    def leave_out(self, name: str, why: str) -> None:
        """Something is not looked at."""
        self.left_out.append(f"{readable(name)[:200]}: {why}")

    def add(self, name: PurePosixPath, problem: str | None, read: Callable[[], bytes]) -> None:
        """An attempt. `problem`, or what reading it raises, says why it cannot be read."""
        if len(self.files) >= ATTEMPTS:
            raise Unreadable(f"It holds more than {ATTEMPTS} attempts.")
        data: bytes | None = None
        if problem is None:
            try:
                data = read()
            except Unreadable as error:
                problem = str(error)
            except Refused:
                problem = f"It is larger than {_size(LIMITS.file_bytes)}."
            except Exception as error:  # the bytes are a stranger's: whatever a library makes of them
                problem = f"It is broken ({type(error).__name__})."
        self.files.append(File(name, data, problem))

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
    data = read_regular(path, LIMITS.archive_bytes)
    found = Contents()
    try:
        for member in members(data, LIMITS):
            found.count()
            name = inner_name(member.name)
            if name is None:
                found.leave_out(member.name, "a name that leads out of the archive, or is too long")
            elif is_junk(name):
                continue
            elif wanted(name):
                found.add(name, member.problem and f"It {member.problem}", member.read)
            elif member.problem is not None:
                found.leave_out(member.name, member.problem)
            elif is_archive(name.name):
                found.leave_out(member.name, NOT_OPENED)
    except Refused as refused:
        raise Unreadable(f"{str(refused)[:1].upper()}{str(refused)[1:]}") from refused
    except Unreadable:
        raise
    except Exception as error:  # the bytes are a stranger's: the libraries may stumble over them in any way
        raise Unreadable(f"It cannot be read as an archive ({type(error).__name__}).") from error
    return found


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
        path = Path(entry.path)
        if is_junk(PurePosixPath(entry.name)):
            continue
        if entry.is_dir(follow_symlinks=False):
            if len(name.parts) > DEPTH:
                found.leave_out(str(name), "too deep")
            else:
                _walk(path, name, wanted, found)
        elif wanted(name):
            found.add(name, None, lambda path=path: read_regular(path, LIMITS.file_bytes))  # type: ignore[misc]
        elif not entry.is_file(follow_symlinks=False):
            found.leave_out(str(name), "a link or a special file")
        elif is_archive(entry.name):
            found.leave_out(str(name), NOT_OPENED)


def _size(count: int) -> str:
    return f"{count >> 20} MiB"
