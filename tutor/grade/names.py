"""Names that others chose: of students, of files in their submissions, and of the files that we write for them."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from pathlib import PurePosixPath

NAME_LENGTH = 1024
DEPTH = 32
JUNK = frozenset({"__MACOSX", "__pycache__", "node_modules", "site-packages"})
ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2")
UNREADABLE = (".rar", ".7z", ".tar.xz", ".xz", ".bz2", ".gz", ".zst", ".lz", ".ipynb")
"""What students hand in although it cannot be read; they get their rows all the same."""

# Everything that could move a cursor, change colours, or reorder what is read.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_PLAIN = re.compile(r"[A-Za-z0-9@+_-][A-Za-z0-9@+._-]{0,99}")
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def readable(name: str) -> str:
    """A name as text that can be shown and written: no control characters, no lone surrogates, one Unicode form."""
    whole = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return _CONTROL.sub(lambda m: ascii(m[0])[1:-1], unicodedata.normalize("NFC", whole))


def inner_name(name: str) -> PurePosixPath | None:
    """The place of a member inside its archive, or None if it wants to be elsewhere: an absolute path, a drive, `..`,
    an endless name. Nothing is ever written there; whoever sends such a name gets it ignored."""
    path = PurePosixPath(name.replace("\\", "/"))
    parts = path.parts
    if not parts or len(name) > NAME_LENGTH or len(parts) > DEPTH or "\0" in name:
        return None
    if path.is_absolute() or ".." in parts or re.match(r"[A-Za-z]:", parts[0]):
        return None
    return path


def is_junk(path: PurePosixPath) -> bool:
    """Whether this is what programs leave behind: hidden files, caches, a Mac's twins of every file."""
    return any(part in JUNK or part.startswith(".") for part in path.parts)


def is_archive(name: str, kinds: tuple[str, ...] = ARCHIVES + UNREADABLE) -> bool:
    """Whether a file name ends like an archive's."""
    return name.lower().endswith(kinds)


def without_suffix(name: str) -> str:
    """`ada` of `ada.tar.gz`."""
    lower = name.lower()
    ending = max((e for e in (*ARCHIVES, *UNREADABLE, ".py") if lower.endswith(e)), key=len, default="")
    return name[: len(name) - len(ending)] if ending else name


class Slugs:
    """Which exercise a file is an attempt at: `SLUG.py` or `NN_SLUG.py`, in any case of letters."""

    def __init__(self, slugs: Iterable[str]) -> None:
        self.slugs = tuple(slugs)
        self._by_name = {slug.casefold(): slug for slug in self.slugs}

    def of(self, name: str) -> str | None:
        """The slug that a file name (without folders) names, or None."""
        stem, dot, ending = name.rpartition(".")
        if not dot or ending.lower() != "py":
            return None
        stem = stem.casefold()
        return self._by_name.get(stem) or self._by_name.get(re.sub(r"^\d+_", "", stem))


def file_names(students: Iterable[str]) -> dict[str, str]:
    """A file name (without `.json`) for every student: safe on every system, and no two the same in any case of
    letters. A name that is plain already stays as it is; the others get a part of their hash."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for student in sorted(students):
        plain = _PLAIN.fullmatch(student) and not _DEVICES.fullmatch(student) and not student.endswith(".")
        name = student
        if not plain or name.lower() in taken:
            words = re.sub(r"[^A-Za-z0-9@+_-]+", "-", student).strip("-")[:60] or "student"
            name = f"{words}~{hashlib.sha256(student.encode()).hexdigest()[:12]}"
        taken.add(name.lower())
        found[student] = name
    return found
