"""What a learner did: attempts with source and verdict, hints used, solutions looked at."""

from __future__ import annotations

import hashlib
import math
import os
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tutor.protocol import Verdict
from tutor.record.store import ESTIMATED_SPEED, FILE_NAME, MEASURED_SPEED, clear, connect, data_folder, transaction


@dataclass(frozen=True)
class Attempt:
    """One attempt, without its source and verdict (see `History.source` and `History.verdict`).

    `at` is in seconds since 1970 UTC. `passed` is never true for a run of some stages only."""

    id: int
    uid: str
    set_id: str
    slug: str
    at: float
    sha256: str
    passed: bool
    score: float


@dataclass(frozen=True)
class Speed:
    """How fast one attempt was on one chip, in microseconds. `clock`: `device`, `wall`, or `estimate` (without a TPU).

    `low` and `high` bound the ratio to the reference where it was measured. `operations` by rate and `moved` bytes are
    the attempt's work, as in `protocol.Work`."""

    attempt_id: int
    at: float
    sha256: str
    passed: bool
    chip: str
    clock: str
    case: str
    attempt_us: float
    reference_us: float | None
    low: float | None
    high: float | None
    operations: dict[str, int]
    moved: int | None


@dataclass(frozen=True)
class Progress:
    """Where a learner stands with one exercise. Times are seconds since 1970 UTC, or None for never."""

    slug: str
    attempts: int = 0
    solved: bool = False
    best_score: float = 0.0
    last_at: float | None = None
    solved_at: float | None = None
    hints_used: int = 0
    revealed_at: float | None = None


class History:
    """The history in one file. Every method is one transaction: after a kill, it is there whole or not at all.

    One connection; not to be used by two threads at once. Use as a context manager, or call `close`."""

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self.path = path
        self.db = db

    def __enter__(self) -> History:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.db.close()

    # ------------------------------------------------------------ attempts

    def add(self, set_id: str, slug: str, source: bytes, verdict: Verdict, *, whole: bool = True) -> int:
        """Keep an attempt and return its id. `whole=False` for a run of some stages only: it never solves."""
        with clear(self.path), transaction(self.db):
            return self.insert(
                uid=os.urandom(16).hex(),
                set_id=set_id,
                slug=slug,
                at=time.time(),
                source=source,
                passed=verdict.passed and whole,
                score=verdict.score if whole else 0.0,
                verdict=msgspec.json.encode(verdict),
            )

    def insert(
        self, *, uid: str, set_id: str, slug: str, at: float, source: bytes, passed: bool, score: float, verdict: bytes
    ) -> int:
        """Insert one attempt; for use inside a transaction."""
        sha256 = hashlib.sha256(source).hexdigest()
        self.db.execute("INSERT OR IGNORE INTO source VALUES (?, ?)", (sha256, source))
        row = (uid, set_id, slug, at, sha256, passed, score, verdict)
        cursor = self.db.execute(
            "INSERT INTO attempt (uid, set_id, slug, at, sha256, passed, score, verdict) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )
        made = cursor.lastrowid
        assert made is not None
        self.db.execute(f"{MEASURED_SPEED} AND id = ?", (made,))
        self.db.execute(f"{ESTIMATED_SPEED} AND attempt.id = ?", (made,))
        return made

    def attempts(self, set_id: str, slug: str) -> list[Attempt]:
        """All attempts of one exercise, oldest first."""
        query = "SELECT id, uid, set_id, slug, at, sha256, passed, score FROM attempt WHERE set_id = ? AND slug = ?"
        rows = self._rows(f"{query} ORDER BY at, id", set_id, slug)
        return [Attempt(r[0], r[1], r[2], r[3], r[4], r[5], bool(r[6]), r[7]) for r in rows]

    def source(self, attempt_id: int) -> bytes:
        """The file as it was at that attempt. `KeyError` if there is no such attempt."""
        query = "SELECT bytes FROM source JOIN attempt USING (sha256) WHERE id = ?"
        return bytes(self._one(query, attempt_id))

    def verdict(self, attempt_id: int) -> Verdict:
        """The verdict on that attempt. `KeyError` if there is no such attempt."""
        data = self._one("SELECT verdict FROM attempt WHERE id = ?", attempt_id)
        return msgspec.json.decode(data, type=Verdict)

    def speeds(self, set_id: str, slug: str) -> list[Speed]:
        """How fast the attempts at one exercise were, oldest first."""
        query = """
            SELECT attempt_id, at, sha256, passed, chip, clock, case_name, attempt_us, reference_us, low, high,
                   operations, moved
            FROM speed JOIN attempt ON attempt.id = attempt_id WHERE set_id = ? AND slug = ? ORDER BY at, id, chip
        """
        return [_speed(row) for row in self._rows(query, set_id, slug)]

    # ------------------------------------------------------------ progress

    def solved(self, set_id: str) -> set[str]:
        """The slugs of the exercises that were passed at least once."""
        query = "SELECT DISTINCT slug FROM attempt WHERE set_id = ? AND passed"
        return {slug for (slug,) in self._rows(query, set_id)}

    def status(self, set_id: str) -> dict[str, Progress]:
        """Progress for every exercise of the set that was tried, had a hint used, or was revealed."""
        query = """
            SELECT slug, coalesce(n, 0), coalesce(solved, 0), coalesce(best, 0), last, first, coalesce(used, 0), seen
            FROM (
                SELECT slug FROM attempt WHERE set_id = :set UNION SELECT slug FROM hint WHERE set_id = :set
                UNION SELECT slug FROM reveal WHERE set_id = :set
            )
            LEFT JOIN (
                SELECT slug, count(*) AS n, max(passed) AS solved, max(score) AS best, max(at) AS last,
                       min(CASE WHEN passed THEN at END) AS first
                FROM attempt WHERE set_id = :set GROUP BY slug
            ) USING (slug)
            LEFT JOIN (SELECT slug, used FROM hint WHERE set_id = :set) USING (slug)
            LEFT JOIN (SELECT slug, at AS seen FROM reveal WHERE set_id = :set) USING (slug)
        """
        with clear(self.path):
            rows = self.db.execute(query, {"set": set_id}).fetchall()
        return {r[0]: Progress(r[0], r[1], bool(r[2]), r[3], r[4], r[5], r[6], r[7]) for r in rows}

    def progress(self, set_id: str, slug: str) -> Progress:
        """Progress with one exercise; all zero if it was never touched."""
        return self.status(set_id).get(slug, Progress(slug))

    # ------------------------------------------------------------ hints and solutions

    def hints_used(self, set_id: str, slug: str) -> int:
        """How many hints of this exercise the learner has seen."""
        rows = self._rows("SELECT used FROM hint WHERE set_id = ? AND slug = ?", set_id, slug)
        return int(rows[0][0]) if rows else 0

    def use_hint(self, set_id: str, slug: str, available: int) -> int:
        """One hint more, of `available`; returns how many are used now."""
        with clear(self.path), transaction(self.db):
            used = min(self.hints_used(set_id, slug) + 1, available)
            self.set_hints(set_id, slug, used, time.time())
        return used

    def set_hints(self, set_id: str, slug: str, used: int, at: float) -> None:
        """At least this many hints are used; never fewer than before. For use inside a transaction."""
        self.db.execute(
            "INSERT INTO hint VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET used = excluded.used, at = excluded.at "
            "WHERE excluded.used > used",
            (set_id, slug, used, at),
        )

    def mark_revealed(self, set_id: str, slug: str, at: float | None = None) -> None:
        """The learner looked at the solution; the first time counts."""
        with clear(self.path):
            self.set_revealed(set_id, slug, time.time() if at is None else at)

    def set_revealed(self, set_id: str, slug: str, at: float) -> None:
        """Like `mark_revealed`; for use inside a transaction."""
        self.db.execute(
            "INSERT INTO reveal VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET at = min(at, excluded.at)",
            (set_id, slug, at),
        )

    def _rows(self, query: str, *values: object) -> list[Any]:
        with clear(self.path):
            return self.db.execute(query, values).fetchall()

    def _one(self, query: str, attempt_id: int) -> bytes:
        rows = self._rows(query, attempt_id)
        if not rows:
            raise KeyError(attempt_id)
        value: bytes = rows[0][0]
        return value


def speeds_of(attempt: Attempt, verdict: Verdict) -> list[Speed]:
    """What the history would keep of one verdict, for those who keep none."""
    given = (attempt.id, attempt.at, attempt.sha256, attempt.passed)
    found = []
    if (timing := verdict.timing) is not None and 0 < timing.attempt_us < math.inf:
        work = timing.work
        found.append(
            Speed(
                *given, timing.chip or timing.device_kind, timing.clock, timing.case, timing.attempt_us,
                timing.reference_us, timing.ratio_low, timing.ratio_high, work.operations if work else {},
                work.moved if work else None,
            )
        )  # fmt: skip
    for one in verdict.compile:
        if one.schedule is not None and 0 < one.schedule.total_us < math.inf:
            reference = one.reference.total_us if one.reference is not None else None
            operations, moved = (one.work.operations, one.work.moved) if one.work is not None else ({}, None)
            found.append(
                Speed(
                    *given,
                    one.chip,
                    "estimate",
                    one.case,
                    one.schedule.total_us,
                    reference,
                    None,
                    None,
                    operations,
                    moved,
                )
            )
    return found


def _speed(row: Sequence[Any]) -> Speed:
    attempt_id, at, sha256, passed, chip, clock, case, mine, reference, low, high, operations, moved = row
    work = msgspec.json.decode(operations, type=dict[str, int]) if operations else {}
    return Speed(attempt_id, at, sha256, bool(passed), chip, clock, case, mine, reference, low, high, work, moved)


def open_history(path: Path | None = None) -> History:
    """Open the learner's history, making or migrating its file. Raises `HistoryError` (or `NewerHistory`)."""
    file = path if path is not None else data_folder() / FILE_NAME
    return History(file, connect(file))
