"""The history of speeds: what is kept of each attempt, what an older history knows, and hostile figures."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec
import pytest

from tests.unit.verdicts import verdict
from tutor.protocol import Compilation, Schedule, Timing, Work
from tutor.record import export_progress, import_progress, merge_progress, open_history, read_progress, speeds_of
from tutor.record.store import APPLICATION_ID, MIGRATIONS

WORK = Work(operations={"bf16": 2000, "vector": 30}, moved=4096, least=1024, exact=True)


def schedule(us: float) -> Schedule:
    return Schedule(us, us / 4, "memory", 4096, 0.5, 0.0, {}, [])


def estimated(chip: str, us: float, reference: float | None = None, work: Work | None = WORK) -> Compilation:
    other = None if reference is None else schedule(reference)
    return Compilation(chip=chip, case="big", status="passed", schedule=schedule(us), reference=other, work=work)


TIMING = Timing(
    device_kind="TPU v5 lite", attempt_us=50.0, reference_us=40.0, ratio=1.25, ratio_low=1.24, ratio_high=1.26,
    clock="device", samples=[(50.0, 40.0)], case="big", chip="v5e", work=WORK,
)  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.sqlite3"


def test_measured_and_estimated_speeds_are_kept(path: Path) -> None:
    with open_history(path) as history:
        history.add(
            "tiny", "scale", b"a", verdict(False, compile=[estimated("v5e", 90.0, 30.0), estimated("v6e", 45.5)])
        )
        history.add("tiny", "scale", b"b", verdict(timing=TIMING, compile=[estimated("v5e", 52.0, 30.0)]))
        history.add("tiny", "other", b"b", verdict(timing=TIMING))
        history.add("tiny", "scale", b"c", verdict())
        found = history.speeds("tiny", "scale")
    assert [(one.chip, one.clock, one.attempt_us, one.reference_us) for one in found] == [
        ("v5e", "estimate", 90.0, 30.0), ("v6e", "estimate", 45.5, None),
        ("v5e", "device", 50.0, 40.0), ("v5e", "estimate", 52.0, 30.0),
    ]  # fmt: skip
    measured = found[2]
    assert (measured.low, measured.high, measured.case, measured.passed) == (1.24, 1.26, "big", True)
    assert (measured.operations, measured.moved) == ({"bf16": 2000, "vector": 30}, 4096)
    assert found[0].low is None and not found[0].passed


@pytest.mark.parametrize("us", [50.0, float("nan"), 0.0])
def test_what_is_kept_is_what_a_verdict_says(path: Path, us: float) -> None:
    timing = msgspec.structs.replace(TIMING, attempt_us=us)
    said = verdict(timing=timing, compile=[estimated("v5e", 90.0, 30.0), estimated("v6e", us, work=None)])
    with open_history(path) as history:
        history.add("tiny", "scale", b"a", said)
        (attempt,) = history.attempts("tiny", "scale")
        by_chip = lambda one: (one.chip, one.clock)  # noqa: E731
        assert sorted(history.speeds("tiny", "scale"), key=by_chip) == sorted(speeds_of(attempt, said), key=by_chip)


def test_a_chip_without_a_name_of_ours_is_called_what_jax_calls_it(path: Path) -> None:
    with open_history(path) as history:
        other = msgspec.structs.replace(TIMING, chip=None, device_kind="TPU v99", work=None)
        history.add("tiny", "scale", b"a", verdict(timing=other))
        (found,) = history.speeds("tiny", "scale")
    assert (found.chip, found.operations, found.moved) == ("TPU v99", {}, None)


@pytest.mark.parametrize("us", [0.0, -5.0, float("nan"), float("inf")])
def test_a_time_that_is_none_is_not_kept(path: Path, us: float) -> None:
    with open_history(path) as history:
        bad = msgspec.structs.replace(TIMING, attempt_us=us)
        history.add("tiny", "scale", b"a", verdict(timing=bad, compile=[estimated("v5e", us)]))
        assert history.speeds("tiny", "scale") == []
        assert len(history.attempts("tiny", "scale")) == 1


def old_history(path: Path, *verdicts: bytes) -> None:
    """A file as version 2 of the schema left it."""
    db = sqlite3.connect(path)
    for number in range(2):
        db.executescript(MIGRATIONS[number])
    for number, data in enumerate(verdicts):
        db.execute("INSERT OR IGNORE INTO source VALUES ('s', x'00')")
        db.execute(
            "INSERT INTO attempt VALUES (?, ?, 'tiny', 'scale', ?, 's', 1, 1.0, ?)", (None, str(number), number, data)
        )
    db.execute("PRAGMA user_version = 2")
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.commit()
    db.close()


def test_an_older_history_gets_the_speeds_that_its_verdicts_know(path: Path) -> None:
    before = b'{"timing": {"device_kind": "TPU v5 lite", "attempt_us": 7.5, "reference_us": 5.0, "clock": "wall"}}'
    old_history(path, msgspec.json.encode(verdict(compile=[estimated("v6e", 12.0)])), before, b'{"timing": null}')
    with open_history(path) as history:
        found = history.speeds("tiny", "scale")
        assert history.db.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    assert [(one.chip, one.clock, one.attempt_us, one.case) for one in found] == [
        ("v6e", "estimate", 12.0, "big"), ("TPU v5 lite", "wall", 7.5, ""),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "broken", [b"", b"\xff\xfe", b"not json", b'{"compile": 3, "timing": []}', b"[]", b'{"compile": [7]}']
)
def test_a_verdict_that_cannot_be_read_spoils_no_migration(path: Path, broken: bytes) -> None:
    old_history(path, broken, msgspec.json.encode(verdict(timing=TIMING)))
    with open_history(path) as history:
        assert [one.attempt_us for one in history.speeds("tiny", "scale")] == [50.0]


def test_speeds_travel_with_the_attempts(path: Path, tmp_path: Path) -> None:
    with open_history(path) as history:
        history.add("tiny", "scale", b"a", verdict(timing=TIMING, compile=[estimated("v5e", 90.0)]))
        data = export_progress(history)
        wanted = history.speeds("tiny", "scale")
        assert merge_progress(history, read_progress(data, "x")).added == 0
        assert len(history.speeds("tiny", "scale")) == 2
    with open_history(tmp_path / "other.sqlite3") as other:
        merge_progress(other, read_progress(data, "x"))
        assert [one.attempt_us for one in other.speeds("tiny", "scale")] == [one.attempt_us for one in wanted]
        import_progress(other, read_progress(data, "x"))
        assert len(other.speeds("tiny", "scale")) == 2
