"""Progress as one JSON document: to carry to another machine, and back."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tutor.protocol import Verdict
from tutor.record.history import History
from tutor.record.store import HistoryError, clear, transaction

PROGRESS_SCHEMA = "kerneltutor.progress/1"


class _Item(msgspec.Struct, frozen=True, kw_only=True):
    set: str
    exercise: str
    at: float


class AttemptItem(_Item, frozen=True, kw_only=True):
    """One attempt. `source` is base64, as an attempt need not be text."""

    uid: str
    source: bytes
    passed: bool
    score: float
    verdict: Verdict


class HintItem(_Item, frozen=True, kw_only=True):
    """How many hints of an exercise were used."""

    used: int


class RevealItem(_Item, frozen=True, kw_only=True):
    """When a solution was first looked at."""


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """All that a history holds."""

    schema: str
    attempts: list[AttemptItem] = []
    hints: list[HintItem] = []
    reveals: list[RevealItem] = []


class Merged(msgspec.Struct, frozen=True):
    """What a merge brought: how many attempts were new, and how many were there already."""

    added: int
    known: int


def export_progress(history: History) -> bytes:
    """The whole history as JSON."""
    with clear(history.path):
        db = history.db
        attempts = db.execute(
            "SELECT set_id, slug, at, uid, bytes, passed, score, verdict FROM attempt JOIN source USING (sha256) "
            "ORDER BY at, id"
        ).fetchall()
        hints = db.execute("SELECT set_id, slug, at, used FROM hint ORDER BY set_id, slug").fetchall()
        reveals = db.execute("SELECT set_id, slug, at FROM reveal ORDER BY set_id, slug").fetchall()
    document = Document(
        schema=PROGRESS_SCHEMA,
        attempts=[
            AttemptItem(
                set=r[0], exercise=r[1], at=r[2], uid=r[3], source=r[4], passed=bool(r[5]), score=r[6],
                verdict=msgspec.json.decode(r[7], type=Verdict),
            )
            for r in attempts
        ],
        hints=[HintItem(set=r[0], exercise=r[1], at=r[2], used=r[3]) for r in hints],
        reveals=[RevealItem(set=r[0], exercise=r[1], at=r[2]) for r in reveals],
    )  # fmt: skip
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def read_progress(data: bytes, name: str) -> Document:
    """The document in `data`; a `HistoryError` names what is wrong with it. `name` is only for messages."""
    try:
        document = msgspec.json.decode(data, type=Document)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise HistoryError(f"{name} is not an export of progress: {error}.") from None
    if document.schema != PROGRESS_SCHEMA:
        hint = f"This program reads {PROGRESS_SCHEMA}."
        raise HistoryError(f'{name} has the schema "{document.schema}", which is not known.', hint)
    return document


def merge_progress(history: History, document: Document) -> Merged:
    """Add what the history does not have: all of it, or nothing if something goes wrong. Nothing is taken away."""
    with clear(history.path), transaction(history.db):
        return _merge(history, document)


def import_progress(history: History, document: Document) -> tuple[Merged, Path | None]:
    """Make the document the history. What was there before is exported to a file beside it, whose path is returned."""
    with clear(history.path):
        kept = _keep(history)
        with transaction(history.db):
            for table in ("attempt", "source", "hint", "reveal"):
                history.db.execute(f"DELETE FROM {table}")
            return _merge(history, document), kept


def _merge(history: History, document: Document) -> Merged:
    known = {uid for (uid,) in history.db.execute("SELECT uid FROM attempt")}
    added = 0
    for item in document.attempts:
        if item.uid in known:
            continue
        known.add(item.uid)
        added += 1
        history.insert(
            uid=item.uid, set_id=item.set, slug=item.exercise, at=item.at, source=item.source,
            passed=item.passed, score=item.score, verdict=msgspec.json.encode(item.verdict),
        )  # fmt: skip
    for hint in document.hints:
        history.set_hints(hint.set, hint.exercise, hint.used, hint.at)
    for reveal in document.reveals:
        history.set_revealed(reveal.set, reveal.exercise, reveal.at)
    return Merged(added, len(document.attempts) - added)


def _keep(history: History) -> Path | None:
    """An export of the present history beside it, unless it is empty: `progress import` brings it back."""
    tables = ("attempt", "hint", "reveal")
    if not any(history.db.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() for table in tables):
        return None
    stem = history.path.with_suffix("")
    kept = next(p for i in range(1, 10**6) if not (p := stem.with_name(f"{stem.name}.kept-{i}.json")).exists())
    kept.write_bytes(export_progress(history))
    return kept
