"""The file of records: nothing lost, nothing doubled, whenever the run ends."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.unit.verdicts import verdict
from tutor.grade.journal import Journal, JournalError
from tutor.grade.records import Flag, GradeRecord


def record(student: str, exercise: str = "scale", score: float = 1.0, **changes: object) -> GradeRecord:
    base = GradeRecord(
        student=student, exercise=exercise, status="passed", score=score, max_score=1.0, verdict=verdict(), tier="A",
        set_sha256="5" * 64, flags=[Flag("KT800", "Not run on a TPU.")], submitted_at=None, late_seconds=None,
    )  # fmt: skip
    return msgspec.structs.replace(base, **changes)


def students(path: Path) -> list[str]:
    return [msgspec.json.decode(line)["student"] for line in (path / "records.jsonl").read_bytes().splitlines()]


def test_what_was_added_is_there_again(tmp_path: Path) -> None:
    with Journal(tmp_path, write=True) as journal:
        journal.add(record("bob"))
        journal.add(record("ada"))
        assert journal.get(("ada", "scale")) == record("ada")
        assert students(tmp_path) == ["bob", "ada"]  # on the disk at once
    with Journal(tmp_path, write=False) as journal:
        assert journal.get(("bob", "scale")) == record("bob")
        assert journal.get(("zoe", "scale")) is None
        assert ("ada", "scale") in journal and ("ada", "guess") not in journal


def test_a_finished_file_is_in_order_with_one_line_each(tmp_path: Path) -> None:
    order = [(student, slug) for student in ("ada", "bob") for slug in ("scale", "guess")]
    with Journal(tmp_path, write=True) as journal:
        for student, slug, score in [("bob", "guess", 1.0), ("ada", "scale", 0.1), ("gone", "scale", 1.0),
                                     ("ada", "guess", 1.0), ("bob", "scale", 1.0), ("ada", "scale", 0.9)]:  # fmt: skip
            journal.add(record(student, slug, score))
        journal.finish(order)
        assert [one.key for one in journal.records()] == [*order, ("gone", "scale")]
        assert journal.get(("ada", "scale")) == record("ada", score=0.9)
        journal.add(record("ada", score=1.0))  # and it can go on
        assert journal.get(("ada", "scale")) == record("ada")
    assert len(students(tmp_path)) == 6


def test_a_file_in_order_is_left_alone(tmp_path: Path) -> None:
    with Journal(tmp_path, write=True) as journal:
        journal.add(record("ada"))
        journal.finish([("ada", "scale")])
        before = (tmp_path / "records.jsonl").stat().st_ino
        journal.finish([("ada", "scale")])
    assert (tmp_path / "records.jsonl").stat().st_ino == before


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_a_torn_last_line_is_taken_away(cut: int, tmp_path: Path) -> None:
    with Journal(tmp_path, write=True) as journal:
        journal.add(record("ada"))
        journal.add(record("bob"))
    path = tmp_path / "records.jsonl"
    path.write_bytes(path.read_bytes()[:-cut])
    with Journal(tmp_path, write=False) as journal:  # a reader sees the same, and repairs nothing
        assert journal.recorded() == [("ada", "scale")]
    assert not path.read_bytes().endswith(b"\n")
    with Journal(tmp_path, write=True) as journal:
        assert journal.recorded() == [("ada", "scale")]
        journal.add(record("bob"))
    assert students(tmp_path) == ["ada", "bob"]


def test_a_line_that_is_no_record_is_named(tmp_path: Path) -> None:
    with Journal(tmp_path, write=True) as journal:
        journal.add(record("ada"))
    with (tmp_path / "records.jsonl").open("ab") as file:
        file.write(b'{"student": "bob"}\n')
    with pytest.raises(JournalError, match=r"records\.jsonl:2"):
        Journal(tmp_path, write=True)


def test_two_runs_do_not_write_into_one_folder(tmp_path: Path) -> None:
    with Journal(tmp_path, write=True) as journal:
        with pytest.raises(JournalError, match="Another run"):
            Journal(tmp_path, write=True)
        journal.add(record("ada"))
        journal.add(record("ada", score=0.5))
        journal.finish([])  # the lock goes along with the new file
        with pytest.raises(JournalError, match="Another run"):
            Journal(tmp_path, write=True)
    with Journal(tmp_path, write=True) as journal:
        assert len(journal.recorded()) == 1


def test_reading_makes_no_folder(tmp_path: Path) -> None:
    with Journal(tmp_path / "out", write=False) as journal:
        assert journal.recorded() == [] and journal.get(("ada", "scale")) is None
    assert not (tmp_path / "out").exists()
