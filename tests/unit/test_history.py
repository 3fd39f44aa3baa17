"""The history keeps what it was given, through kills, migrations, and other people's files."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.verdicts import verdict
from tutor.record import (
    History,
    HistoryError,
    NewerHistory,
    export_progress,
    import_progress,
    merge_progress,
    open_history,
    read_progress,
)
from tutor.record.store import APPLICATION_ID, MIGRATIONS, data_folder


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "history.sqlite3"


def test_attempts_come_back_whole(path: Path) -> None:
    with open_history(path) as history:
        first = history.add("tiny", "scale", b"\xff bytes", verdict(False))
        second = history.add("tiny", "scale", b"\xff bytes", verdict())
        history.add("other", "scale", b"", verdict())
    with open_history(path) as history:
        attempts = history.attempts("tiny", "scale")
        assert [(a.id, a.passed, a.score) for a in attempts] == [(first, False, 0.5), (second, True, 1.0)]
        assert history.source(second) == b"\xff bytes"
        assert history.verdict(first) == verdict(False)
        assert history.db.execute("SELECT count(*) FROM source").fetchone() == (2,)
        with pytest.raises(KeyError):
            history.source(99)


def test_progress(path: Path) -> None:
    with open_history(path) as history:
        assert history.status("tiny") == {}
        history.add("tiny", "scale", b"a", verdict(False))
        history.add("tiny", "scale", b"b", verdict())
        history.add("tiny", "scale", b"c", verdict(False))
        history.use_hint("tiny", "guess", available=2)
        history.mark_revealed("tiny", "copy", at=5.0)
        status = history.status("tiny")
        assert set(status) == {"scale", "guess", "copy"}
        scale = status["scale"]
        assert (scale.attempts, scale.solved, scale.best_score, scale.hints_used) == (3, True, 1.0, 0)
        assert scale.solved_at is not None and scale.last_at is not None and scale.solved_at <= scale.last_at
        assert (status["guess"].attempts, status["guess"].hints_used) == (0, 1)
        assert status["copy"].revealed_at == 5.0
        assert history.solved("tiny") == {"scale"}
        assert history.solved("other") == set()
        assert history.progress("tiny", "never").attempts == 0


def test_a_run_of_some_stages_never_solves(path: Path) -> None:
    with open_history(path) as history:
        history.add("tiny", "scale", b"a", verdict(), whole=False)
        assert history.solved("tiny") == set()
        assert history.progress("tiny", "scale").attempts == 1


def test_hints_stop_at_the_last(path: Path) -> None:
    with open_history(path) as history:
        assert history.hints_used("tiny", "scale") == 0
        assert [history.use_hint("tiny", "scale", available=2) for _ in range(3)] == [1, 2, 2]


def test_killed_while_writing(path: Path) -> None:
    """A process that is killed between writes leaves every attempt that it finished, and a usable file."""
    writer = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from tests.unit.verdicts import verdict
from tutor.record import open_history
history = open_history(Path({str(path)!r}))
while True:
    print(history.add("tiny", "scale", b"x" * 5000, verdict()), flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", writer], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    seen = [int(process.stdout.readline()) for _ in range(20)]
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    seen += [int(line) for line in process.stdout.read().split()]
    process.stdout.close()
    with open_history(path) as history:
        assert {a.id for a in history.attempts("tiny", "scale")} >= set(seen)
        assert history.db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert history.source(seen[-1]) == b"x" * 5000
        history.add("tiny", "scale", b"after", verdict())


def old_file(path: Path, version: int) -> None:
    """A file as an older kerneltutor left it."""
    path.parent.mkdir(parents=True)
    db = sqlite3.connect(path)
    for script in MIGRATIONS[:version]:
        db.executescript(script)
    db.execute(f"PRAGMA user_version = {version}")
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute("INSERT INTO hint VALUES ('tiny', 'scale', 2, 1.0)")
    db.commit()
    db.close()


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS)))
def test_older_files_are_migrated(path: Path, version: int) -> None:
    old_file(path, version)
    with open_history(path) as history:
        assert history.hints_used("tiny", "scale") == 2
        history.mark_revealed("tiny", "scale")
        assert history.db.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)


def test_newer_files_are_refused_untouched(path: Path) -> None:
    old_file(path, len(MIGRATIONS))
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    db.close()
    before = path.read_bytes()
    with pytest.raises(NewerHistory, match="written by a newer kerneltutor") as caught:
        open_history(path)
    assert "Update kerneltutor" in (caught.value.hint or "")
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_not_a_database(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"this is a text, and quite a long one, of at least one hundred bytes" * 3)
    before = path.read_bytes()
    with pytest.raises(HistoryError, match="is damaged, or is no history"):
        open_history(path)
    assert path.read_bytes() == before


def test_another_programs_database(path: Path) -> None:
    path.parent.mkdir(parents=True)
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE mail (x)")
    db.close()
    before = path.read_bytes()
    with pytest.raises(HistoryError, match="of another program"):
        open_history(path)
    assert path.read_bytes() == before


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HistoryError, match="cannot be used") as caught:
        open_history(tmp_path / "file" / "history.sqlite3")
    assert "KERNELTUTOR_DATA" in (caught.value.hint or "")


def test_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELTUTOR_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    monkeypatch.delenv("KERNELTUTOR_DATA")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    assert data_folder().name == "kerneltutor"


# ---------------------------------------------------------------- export, import, merge


def filled(path: Path, source: bytes) -> History:
    history = open_history(path)
    history.add("tiny", "scale", source, verdict())
    history.use_hint("tiny", "scale", available=3)
    history.mark_revealed("tiny", "scale", at=7.0)
    return history


def test_export_and_import_give_the_same(tmp_path: Path) -> None:
    with filled(tmp_path / "a.sqlite3", b"one \xff") as a, open_history(tmp_path / "b.sqlite3") as b:
        document = export_progress(a)
        merged, kept = import_progress(b, read_progress(document, "file"))
        assert (merged.added, kept) == (1, None)
        assert export_progress(b) == document
        assert b.source(b.attempts("tiny", "scale")[0].id) == b"one \xff"


def test_merge_is_a_union_and_can_be_repeated(tmp_path: Path) -> None:
    with filled(tmp_path / "a.sqlite3", b"one") as a, filled(tmp_path / "b.sqlite3", b"two") as b:
        a.use_hint("tiny", "scale", available=3)
        document = read_progress(export_progress(a), "file")
        assert merge_progress(b, document).added == 1
        again = merge_progress(b, document)
        assert (again.added, again.known) == (0, 1)
        assert {b.source(x.id) for x in b.attempts("tiny", "scale")} == {b"one", b"two"}
        assert b.hints_used("tiny", "scale") == 2


def test_import_keeps_what_it_replaces(tmp_path: Path) -> None:
    with filled(tmp_path / "a.sqlite3", b"one") as a, filled(tmp_path / "b.sqlite3", b"two") as b:
        _, kept = import_progress(b, read_progress(export_progress(a), "file"))
        assert [b.source(x.id) for x in b.attempts("tiny", "scale")] == [b"one"]
        assert kept == tmp_path / "b.kept-1.json"
        import_progress(b, read_progress(kept.read_bytes(), "kept"))
        assert [b.source(x.id) for x in b.attempts("tiny", "scale")] == [b"two"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"not json", "is not an export of progress"),
        (b"{}", "is not an export of progress"),
        (b"\xff\xfe", "is not an export of progress"),
        (b'{"schema": "kerneltutor.progress/9"}', 'has the schema "kerneltutor.progress/9"'),
        (b'{"schema": "kerneltutor.progress/1", "attempts": [{"uid": 3}]}', "is not an export of progress"),
    ],
)
def test_not_an_export(data: bytes, message: str) -> None:
    with pytest.raises(HistoryError, match=message):
        read_progress(data, "file")


def test_a_merge_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with filled(tmp_path / "a.sqlite3", b"one") as a, filled(tmp_path / "b.sqlite3", b"two") as b:
        document = read_progress(export_progress(a), "file")
        monkeypatch.setattr(History, "set_hints", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            merge_progress(b, document)
        assert len(b.attempts("tiny", "scale")) == 1
