"""A run over a class with a ladder that only pretends: who is judged, how often, and what stops nobody."""

from __future__ import annotations

import asyncio
import datetime
from pathlib import Path

import msgspec
import pytest

from tests.grade.classes import (
    RIGHT,
    THREE,
    PretendedLadder,
    hand_in,
    judging_with,
    run_over,
    whole,
    write_set,
)
from tests.unit.verdicts import stage, verdict
from tutor.findings import finding
from tutor.grade.changes import Change
from tutor.grade.journal import Journal
from tutor.grade.marking import lateness_of
from tutor.grade.roster import Enrolled
from tutor.grade.run import Run, grade
from tutor.protocol import Verdict
from tutor.sets import ExerciseSet, load_set
from tutor.sets.manifest import Late


def judge(source: bytes) -> Verdict:
    """Right if it says so."""
    return whole() if b"* 2" in source else whole(failed="interpret")


def broken(source: bytes) -> Verdict:
    return verdict(passed=False, stages=[stage("load", "error", reason="no memory")], score=0.0)


async def graded(
    run: Run, ladder: PretendedLadder, home: Path, *, another: PretendedLadder | None = None
) -> dict[tuple[str, str], Change]:
    judging = judging_with(ladder, home / "cache", jobs=run.jobs, another=another)
    found: dict[tuple[str, str], Change] = {}
    with Journal(home / "out", write=True) as journal:
        async for changes in grade(run, judging, journal):
            for change in changes:
                found[change.record.key] = change
                if change.writes:
                    journal.add(change.record)
        journal.finish(run.order)
    return found


def statuses(found: dict[tuple[str, str], Change]) -> dict[tuple[str, str], str]:
    return {key: change.record.status for key, change in found.items()}


async def test_every_student_gets_a_row_for_every_exercise(small: ExerciseSet, tmp_path: Path) -> None:
    folder = tmp_path / "class"
    hand_in(folder / "ada", scale=RIGHT, guess="* 2")
    hand_in(folder / "bob", scale=THREE)
    hand_in(folder / "cy")
    (folder / "dee.zip").write_bytes(b"broken")
    run = run_over(folder, small, roster=[Enrolled("zoe")], rostered=True)
    found = await graded(run, PretendedLadder(judge), tmp_path)
    assert list(statuses(found).values()).count("invalid") == 7
    assert {key: status for key, status in statuses(found).items() if status != "invalid"} == {
        ("ada", "scale"): "passed", ("ada", "guess"): "passed", ("bob", "scale"): "partial",
    }  # fmt: skip
    assert run.order == sorted(found, key=lambda key: (key[0], small.slugs.index(key[1])))


async def test_identical_files_are_judged_once_even_at_the_same_time(small: ExerciseSet, tmp_path: Path) -> None:
    for number in range(20):
        hand_in(tmp_path / "class" / f"s{number}", scale=RIGHT)
    hand_in(tmp_path / "class" / "other", scale=THREE)
    ladder = PretendedLadder(judge, seconds=0.05)
    found = await graded(run_over(tmp_path / "class", small, jobs=4), ladder, tmp_path)
    assert sorted(ladder.asked) == sorted([RIGHT.encode(), THREE.encode()])
    assert sum(change.record.status == "passed" for change in found.values()) == 20


@pytest.mark.parametrize("jobs", [1, 3])
async def test_no_more_at_once_than_asked(jobs: int, small: ExerciseSet, tmp_path: Path) -> None:
    for number in range(12):
        hand_in(tmp_path / "class" / f"s{number}", scale=RIGHT + f"# {number}\n")
    ladder = PretendedLadder(judge, seconds=0.01)
    await graded(run_over(tmp_path / "class", small, jobs=jobs), ladder, tmp_path)
    assert ladder.most_at_once == jobs


async def test_a_second_run_judges_nothing_and_changes_nothing(small: ExerciseSet, tmp_path: Path) -> None:
    hand_in(tmp_path / "class" / "ada", scale=RIGHT)
    hand_in(tmp_path / "class" / "bob", scale=THREE)
    await graded(run_over(tmp_path / "class", small), PretendedLadder(judge), tmp_path)
    before = (tmp_path / "out" / "records.jsonl").read_bytes()
    ladder = PretendedLadder(judge)
    found = await graded(run_over(tmp_path / "class", small), ladder, tmp_path)
    assert ladder.asked == [] and {change.kind for change in found.values()} == {"same"}
    assert (tmp_path / "out" / "records.jsonl").read_bytes() == before


async def test_a_regrade_judges_only_what_changed(small: ExerciseSet, tmp_path: Path) -> None:
    for student in ("ada", "bob"):
        hand_in(tmp_path / "class" / student, scale=RIGHT + f"# {student}\n", guess=f"* 2 # {student}\n")
    await graded(run_over(tmp_path / "class", small), PretendedLadder(judge), tmp_path)
    hidden = small.root / "solutions" / "01_refs" / "01_scale" / "hidden.toml"
    hidden.write_text(hidden.read_text().replace("m = 24", "m = 32"))
    ladder = PretendedLadder(judge)
    await graded(run_over(tmp_path / "class", load_set(small.root)), ladder, tmp_path)
    assert sorted(ladder.asked) == [(RIGHT + f"# {student}\n").encode() for student in ("ada", "bob")]


@pytest.mark.parametrize(
    ("file", "old", "new", "again"),
    [
        ("exercises/01_refs/01_scale/oracle.py", "* 2", "* 2.0", True),
        ("exercises/01_refs/01_scale/exercise.toml", "Look at the factor", "Look again", True),
        ("solutions/01_refs/01_scale/reference.py", "* 2", "* 2.0", True),
        ("exercises/01_refs/01_scale/lesson.md", "Read", "Look", False),
        ("exercises/02_blocks/01_guess/kernels.py", "* 2", "* 4", False),
    ],
)
async def test_what_a_verdict_follows_from(
    file: str, old: str, new: str, again: bool, small: ExerciseSet, tmp_path: Path
) -> None:
    hand_in(tmp_path / "class" / "ada", scale=RIGHT)
    await graded(run_over(tmp_path / "class", small), PretendedLadder(judge), tmp_path)
    path = small.root / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    ladder = PretendedLadder(judge)
    await graded(run_over(tmp_path / "class", load_set(small.root)), ladder, tmp_path)
    assert bool(ladder.asked) is again


async def test_a_fault_of_ours_is_tried_again_alone_and_never_remembered(small: ExerciseSet, tmp_path: Path) -> None:
    hand_in(tmp_path / "class" / "ada", scale=RIGHT)
    first, second = PretendedLadder(broken), PretendedLadder(judge)
    found = await graded(run_over(tmp_path / "class", small), first, tmp_path, another=second)
    assert found["ada", "scale"].record.status == "passed"
    assert (len(first.asked), len(second.asked), second.closed) == (1, 1, True)

    hand_in(tmp_path / "class" / "bob", scale=THREE)
    for _ in range(2):
        ladder = PretendedLadder(broken)
        found = await graded(run_over(tmp_path / "class", small), ladder, tmp_path)
        record = found["bob", "scale"].record
        assert (record.status, record.score, record.verdict) == ("infra_error", 0.0, None)
        assert [flag.evidence for flag in record.flags if flag.code == "KT833"] == ["load: no memory"]
        assert ladder.asked == [THREE.encode()] * 2


async def test_one_that_crashes_stops_nobody(small: ExerciseSet, tmp_path: Path) -> None:
    def crash(source: bytes) -> Verdict:
        if b"crash" in source:
            raise RuntimeError("at 0x7f00")
        return judge(source)

    hand_in(tmp_path / "class" / "ada", scale="crash")
    hand_in(tmp_path / "class" / "bob", scale=RIGHT)
    found = await graded(run_over(tmp_path / "class", small, jobs=1), PretendedLadder(crash), tmp_path)
    assert found["ada", "scale"].record.status == "infra_error"
    assert found["bob", "scale"].record.status == "passed"


async def test_a_submission_that_breaks_the_reading_stops_nobody(
    small: ExerciseSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tutor.grade import run as module

    original = module.read

    def fragile(submission, exercises, *, rostered):  # type: ignore[no-untyped-def]
        if submission.student == "ada":
            raise OSError("the disk of \udcff\n is gone")
        return original(submission, exercises, rostered=rostered)

    monkeypatch.setattr(module, "read", fragile)
    hand_in(tmp_path / "class" / "ada", scale=RIGHT)
    hand_in(tmp_path / "class" / "bob", scale=RIGHT)
    found = await graded(run_over(tmp_path / "class", small), PretendedLadder(judge), tmp_path)
    assert statuses(found)["ada", "scale"] == statuses(found)["ada", "guess"] == "infra_error"
    [flag] = [flag for flag in found["ada", "scale"].record.flags if flag.code == "KT833"]
    assert flag.evidence == "reading the submission: OSError: the disk of \\xff\\n is gone"
    assert statuses(found)["bob", "scale"] == "passed"


async def test_another_tier_than_the_proved_one_is_no_result(small: ExerciseSet, tmp_path: Path) -> None:
    hand_in(tmp_path / "class" / "ada", scale=RIGHT)
    run = run_over(tmp_path / "class", small)
    weaker = msgspec.structs.replace(whole().environment, isolation="B")
    ladder = PretendedLadder(lambda source: msgspec.structs.replace(whole(), environment=weaker))
    found = await graded(run, ladder, tmp_path)
    assert found["ada", "scale"].record.status == "infra_error"


async def test_suspicious_wins_nothing_and_says_why(small: ExerciseSet, tmp_path: Path) -> None:
    hand_in(tmp_path / "class" / "ada", scale=RIGHT)
    told = finding("KT392", "another program", case="small")
    ladder = PretendedLadder(lambda source: whole(stages=[stage("load"), stage("structure", "failed", told)]))
    record = (await graded(run_over(tmp_path / "class", small), ladder, tmp_path))["ada", "scale"].record
    assert (record.status, record.score) == ("suspicious", 0.0)
    assert "KT392" in [flag.code for flag in record.flags]


async def test_the_starter_wins_nothing(small: ExerciseSet, tmp_path: Path) -> None:
    hand_in(tmp_path / "class" / "ada", scale=small.exercise("scale").starter)
    record = (await graded(run_over(tmp_path / "class", small), PretendedLadder(judge), tmp_path))[
        "ada", "scale"
    ].record
    assert (record.status, record.score) == ("failed", 0.0)
    assert "KT840" in [flag.code for flag in record.flags]


async def test_ending_early_leaves_what_was_done(small: ExerciseSet, tmp_path: Path) -> None:
    for number in range(8):
        hand_in(tmp_path / "class" / f"s{number}", scale=RIGHT + f"# {number}\n")
    run = run_over(tmp_path / "class", small, jobs=1)
    task = asyncio.create_task(graded(run, PretendedLadder(judge, seconds=0.05), tmp_path))
    while not (tmp_path / "out" / "records.jsonl").exists() or not (tmp_path / "out" / "records.jsonl").read_bytes():
        await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    done = len((tmp_path / "out" / "records.jsonl").read_bytes().splitlines())
    assert 0 < done < 16
    ladder = PretendedLadder(judge)
    found = await graded(run, ladder, tmp_path)
    assert len(ladder.asked) < 8 and len(found) == 16
    assert len((tmp_path / "out" / "records.jsonl").read_bytes().splitlines()) == 16


# ---------------------------------------------------------------- lateness

DUE = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)


async def test_lateness_takes_from_the_score(tmp_path: Path) -> None:
    root = write_set(tmp_path / "set")
    manifest = root / "exercises" / "set.toml"
    manifest.write_text(manifest.read_text() + '\n[late]\ndue = "2030-01-01T00:00:00Z"\npercent_per_day = 10\n')
    for student in ("early", "late", "unknown"):
        hand_in(tmp_path / "class" / student, scale=RIGHT)
    roster = [
        Enrolled("early", submitted_at=DUE - datetime.timedelta(hours=1)),
        Enrolled("late", submitted_at=DUE + datetime.timedelta(hours=25)),
        Enrolled("unknown"),
    ]
    run = run_over(tmp_path / "class", load_set(root), roster=roster, rostered=True)
    found = await graded(run, PretendedLadder(judge), tmp_path)
    early, late, unknown = (found[student, "scale"].record for student in ("early", "late", "unknown"))
    assert (early.score, early.late_seconds, early.status) == (1.0, 0, "passed")
    assert (late.score, late.late_seconds, late.status) == (0.8, 25 * 3600, "passed")
    assert late.submitted_at == "2030-01-02T01:00:00+00:00"
    assert (unknown.score, unknown.late_seconds) == (1.0, None)
    assert [[flag.code for flag in one.flags if flag.code != "KT801"] for one in (early, late, unknown)] == [
        ["KT800"], ["KT800", "KT839"], ["KT800", "KT809"],
    ]  # fmt: skip


def test_late_days_are_not_spent_on_what_earned_nothing() -> None:
    policy = Late(due="2030-01-01T00:00:00Z", percent_per_day=10, late_days=1)
    found = lateness_of(policy, ["a", "b"], ["b"], DUE + datetime.timedelta(hours=1))
    assert found["b"] is not None and found["b"].factor == 1.0
    assert found["a"] is not None and (found["a"].days_charged, found["a"].late_seconds) == (0, 3600)
