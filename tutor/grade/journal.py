"""`records.jsonl`: one line a record, added and flushed to the disk one at a time.

While a run goes on, a later line replaces an earlier one of the same student and exercise, so a run that is killed
loses nothing and doubles nothing. A finished run leaves one line each, in the order of students and exercises.
No record is kept in memory: only where its line is."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Self

import msgspec

from tutor.grade.records import GradeRecord
from tutor.sets.errors import SetError

FILE = "records.jsonl"

type Key = tuple[str, str]


class JournalError(SetError):
    """The records cannot be used; the message says where and why."""

    code = "records"


class Journal:
    """The records of one OUT folder. Made for reading only unless `write`: then the folder is locked for this run."""

    def __init__(self, folder: Path, *, write: bool) -> None:
        self.path = folder / FILE
        self.sets: set[str] = set()
        """The ids of the sets that the records are of."""
        self._places: dict[Key, tuple[int, int]] = {}
        self._decode = msgspec.json.Decoder(GradeRecord).decode
        self._write = write
        self._file: IO[bytes] | None = None
        try:
            if write:
                folder.mkdir(parents=True, exist_ok=True)
                self._file = self.path.open("a+b")
                _lock(self._file, folder)
            elif self.path.is_file():
                self._file = self.path.open("rb")
        except OSError as error:
            raise JournalError(f"{self.path} cannot be used: {error.strerror}.") from None
        if self._file is not None:
            self._end = self._index(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def __contains__(self, key: Key) -> bool:
        return key in self._places

    def recorded(self) -> list[Key]:
        """Whose records there are, in the order of their last lines."""
        return list(self._places)

    def get(self, key: Key) -> GradeRecord | None:
        """The record of a student's exercise, read from the file."""
        if key not in self._places or self._file is None:
            return None
        offset, size = self._places[key]
        return self._decode(os.pread(self._file.fileno(), size, offset))

    def add(self, record: GradeRecord) -> None:
        """Write a record; when this returns, it is on the disk."""
        assert self._write and self._file is not None
        line = msgspec.json.encode(record) + b"\n"
        self._file.write(line)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._places[record.key] = (self._end, len(line))
        self._end += len(line)

    def finish(self, order: Sequence[Key]) -> None:
        """Put the records into this order, one line each; those that it does not name come last, by name.

        The new file takes the place of the old one at once, or not at all."""
        assert self._write and self._file is not None
        named = dict.fromkeys(key for key in order if key in self._places)
        wanted = [*named, *sorted(key for key in self._places if key not in named)]
        if self._is_in_order(wanted):
            return
        new = self.path.with_name(f".{FILE}.new")
        places: dict[Key, tuple[int, int]] = {}
        end = 0
        with new.open("wb") as file:
            for key in wanted:
                offset, size = self._places[key]
                file.write(os.pread(self._file.fileno(), size, offset))
                places[key] = (end, size)
                end += size
            file.flush()
            os.fsync(file.fileno())
        ready = new.open("a+b")
        _lock(ready, self.path.parent)
        new.replace(self.path)
        _sync(self.path.parent)
        self._file.close()
        self._file, self._places, self._end = ready, places, end

    def records(self) -> Iterator[GradeRecord]:
        """All records, one after the other, in the order of the file."""
        for key in list(self._places):
            record = self.get(key)
            assert record is not None
            yield record

    def _is_in_order(self, wanted: list[Key]) -> bool:
        end = 0
        for key in wanted:
            offset, size = self._places[key]
            if offset != end:
                return False
            end += size
        return end == self._end

    def _index(self, file: IO[bytes]) -> int:
        """Find every line; a last line that was cut off by a crash is taken away (for a reader: not looked at)."""
        file.seek(0)
        offset = 0
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                if self._write:
                    file.truncate(offset)
                    os.fsync(file.fileno())
                break
            try:
                record = self._decode(line)
            except msgspec.MsgspecError as error:
                hint = "Take the line out, or move the file away: what was judged is remembered elsewhere."
                raise JournalError(f"{self.path}:{number}: this is no record: {error}.", hint) from None
            self._places.pop(record.key, None)  # the order is that of the last lines
            self._places[record.key] = (offset, len(line))
            if record.set_id is not None:
                self.sets.add(record.set_id)
            offset += len(line)
        file.seek(0, os.SEEK_END)
        return offset


def _lock(file: IO[bytes], folder: Path) -> None:
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise JournalError(f"Another run is grading into {folder}.", "Wait for it, or choose another --out.") from None


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
