"""The database file: where it is, its schema and its migrations, and clear words when it cannot be used.

A migration is only ever added to the end of `MIGRATIONS`. `PRAGMA user_version` counts those that a file has had, so an
older file is brought up to date in one transaction, and a newer one is refused untouched.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VARIABLE = "KERNELTUTOR_DATA"
FILE_NAME = "history.sqlite3"
APPLICATION_ID = 0x4B54_5554  # "KTUT": tells our file from any other SQLite file

# Both are part of migration 3, and never changed.
_VERDICT = "CASE WHEN json_valid(CAST(verdict AS TEXT)) THEN CAST(verdict AS TEXT) ELSE '{}' END"
MEASURED_SPEED = f"""
    INSERT OR IGNORE INTO speed SELECT id, coalesce(json_extract(said, '$.chip'), json_extract(said, '$.device_kind')),
        json_extract(said, '$.clock'), coalesce(json_extract(said, '$.case'), ''),
        json_extract(said, '$.attempt_us'), json_extract(said, '$.reference_us'),
        json_extract(said, '$.ratio_low'), json_extract(said, '$.ratio_high'),
        json_extract(said, '$.work.operations'), json_extract(said, '$.work.moved')
    FROM (SELECT id, json_extract({_VERDICT}, '$.timing') AS said FROM attempt)
    WHERE json_extract(said, '$.attempt_us') > 0
"""
ESTIMATED_SPEED = f"""
    INSERT OR IGNORE INTO speed SELECT attempt.id, json_extract(one.value, '$.chip'), 'estimate',
        coalesce(json_extract(one.value, '$.case'), ''), json_extract(one.value, '$.schedule.total_us'),
        json_extract(one.value, '$.reference.total_us'), NULL, NULL,
        json_extract(one.value, '$.work.operations'), json_extract(one.value, '$.work.moved')
    FROM attempt, json_each({_VERDICT}, '$.compile') AS one
    WHERE json_extract(one.value, '$.schedule.total_us') > 0
"""
"""Fill the table of speeds from the verdicts of all attempts; with `AND id = ?` after it, from one."""

MIGRATIONS: tuple[str, ...] = (
    # 1: attempts, each with its source (stored once for each content) and its verdict; hints used.
    """
    CREATE TABLE source (sha256 TEXT PRIMARY KEY, bytes BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE attempt (
        id INTEGER PRIMARY KEY,
        uid TEXT NOT NULL UNIQUE,
        set_id TEXT NOT NULL,
        slug TEXT NOT NULL,
        at REAL NOT NULL,
        sha256 TEXT NOT NULL REFERENCES source,
        passed INTEGER NOT NULL,
        score REAL NOT NULL,
        verdict BLOB NOT NULL
    );
    CREATE INDEX attempt_of ON attempt (set_id, slug, at);
    CREATE TABLE hint (
        set_id TEXT NOT NULL, slug TEXT NOT NULL, used INTEGER NOT NULL, at REAL NOT NULL,
        PRIMARY KEY (set_id, slug)
    ) WITHOUT ROWID;
    """,
    # 2: when the reference solution was first looked at.
    """
    CREATE TABLE reveal (
        set_id TEXT NOT NULL, slug TEXT NOT NULL, at REAL NOT NULL,
        PRIMARY KEY (set_id, slug)
    ) WITHOUT ROWID;
    """,
    # 3: how fast each attempt was, measured or estimated; those of earlier attempts are read from their verdicts.
    f"""
    CREATE TABLE speed (
        attempt_id INTEGER NOT NULL REFERENCES attempt ON DELETE CASCADE,
        chip TEXT NOT NULL, clock TEXT NOT NULL, case_name TEXT NOT NULL,
        attempt_us REAL NOT NULL, reference_us REAL, low REAL, high REAL,
        operations TEXT, moved INTEGER,
        PRIMARY KEY (attempt_id, chip, clock)
    ) WITHOUT ROWID;
    {MEASURED_SPEED};
    {ESTIMATED_SPEED}
    """,
)


class HistoryError(Exception):
    """The history cannot be used; `message` says why and `hint` what to do. Nothing in it was changed."""

    code = "history"

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class NewerHistory(HistoryError):
    """The file was written by a newer kerneltutor than this one."""

    code = "history_newer"


def data_folder() -> Path:
    """Where the history lives: `KERNELTUTOR_DATA`, else the platform's folder for a user's data."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen).expanduser().absolute()
    from platformdirs import user_data_path

    return user_data_path("kerneltutor", appauthor=False)


def connect(path: Path) -> sqlite3.Connection:
    """Open the history at `path`, making or migrating it. Raises `HistoryError` or `NewerHistory`."""
    with clear(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        # Autocommit mode: transactions are begun and ended by `transaction` below, and by nothing else.
        db = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
    try:
        with clear(path):
            _check_ours(db, path)
            db.execute("PRAGMA foreign_keys = ON")
            db.execute("PRAGMA journal_mode = WAL")  # stays another mode where the file system cannot do it
            db.execute("PRAGMA synchronous = FULL")
            _migrate(db)
    except BaseException:
        db.close()
        raise
    return db


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All or nothing, also when the process is killed inside."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


@contextmanager
def clear(path: Path) -> Iterator[None]:
    """Turn the errors of SQLite and of the file system into plain words."""
    elsewhere = f"Set {VARIABLE} to another folder to keep the history there."
    try:
        yield
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            message = f"The history {path} is damaged, or is no history: {error}."
            raise HistoryError(message, f"Move that file away to begin a new history. {elsewhere}") from error
        raise HistoryError(f"The history {path} cannot be used: {error}.", elsewhere) from error
    except OSError as error:
        raise HistoryError(f"The history {path} cannot be used: {error.strerror}.", elsewhere) from error


def _check_ours(db: sqlite3.Connection, path: Path) -> None:
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (tables,) = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if application != APPLICATION_ID and tables:
        hint = f"Set {VARIABLE} to another folder."
        raise HistoryError(f"{path} is a database of another program; nothing was written to it.", hint)
    version = _version(db)
    if version > len(MIGRATIONS):
        raise NewerHistory(
            f"The history {path} was written by a newer kerneltutor (its schema is {version}, "
            f"this program knows {len(MIGRATIONS)}). It was left as it is.",
            f"Update kerneltutor, or set {VARIABLE} to another folder.",
        )


def _migrate(db: sqlite3.Connection) -> None:
    if _version(db) == len(MIGRATIONS):
        return
    with transaction(db):
        # Asked again under the lock: another process may have migrated meanwhile.
        for number in range(_version(db), len(MIGRATIONS)):
            for statement in MIGRATIONS[number].split(";"):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {number + 1}")
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _version(db: sqlite3.Connection) -> int:
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    return version
