"""A real class, graded by the real program: the same bytes however it is run, stopped and run again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.grade.classes import OUTSIDE, RIGHT, THREE, hand_in, write_set
from tests.warm import Warm
from tutor.grade.records import GradeRecord, timeless
from tutor.sets import load_set
from tutor.sets.key import read_key

PATIENCE = 240
SPY = """\
    SEEN.append(x.shape)
    print('seen', SEEN, object(), jax)
    if x.shape == (24, 128):
        raise ValueError(SEEN)
    spec ="""
TELLTALE = "SEEN = []\n" + RIGHT.replace("    spec =", SPY)
"""It prints and raises what it learns of the hidden case: 24 rows."""


class Program:
    """`kerneltutor grade` in processes of its own, on one class and one set."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.root = write_set(home / "set")
        self.folder = home / "class"

    def start(self, out: str, *options: str, data: str = "data") -> subprocess.Popen[str]:
        """Begin to grade into `out`."""
        command = [sys.executable, "-m", "tutor", "grade", str(self.folder), "--set", str(self.root), "--no-compile",
                   "--allow-weak", "--out", str(self.home / out), *options]  # fmt: skip
        environment = {**os.environ, "KERNELTUTOR_DATA": str(self.home / data)}
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=self.home
        )

    def grade(self, out: str, *options: str, data: str = "data", code: int = 0) -> str:
        """Grade into `out`; what was said on standard output."""
        process = self.start(out, *options, data=data)
        said, told = process.communicate(timeout=PATIENCE)
        assert process.returncode == code, told
        return said

    def lines(self, out: str) -> list[bytes]:
        """The records as they stand."""
        path = self.home / out / "records.jsonl"
        return path.read_bytes().splitlines(keepends=True) if path.is_file() else []

    def records(self, out: str) -> dict[tuple[str, str], GradeRecord]:
        """All records by student and exercise; none twice."""
        records = [msgspec.json.decode(line, type=GradeRecord) for line in self.lines(out)]
        assert len({record.key for record in records}) == len(records)
        return {record.key: record for record in records}

    def timeless(self, out: str) -> list[bytes]:
        """The records without times, in the order of the file."""
        return [timeless(msgspec.json.decode(line, type=GradeRecord)) for line in self.lines(out)]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    made = Program(tmp_path)
    hand_in(made.folder / "ada", scale=RIGHT, guess="loads_x = 1\n")
    hand_in(made.folder / "bob", scale=THREE, guess="loads_x = 7\n")
    hand_in(made.folder / "cy", scale=RIGHT)
    hand_in(made.folder / "dee", scale=OUTSIDE)
    hand_in(made.folder / "eve", scale="def scale(x:\n", guess="loads_x =\n")
    hand_in(made.folder / "fay", scale=TELLTALE)
    return made


EXPECTED = {
    ("ada", "scale"): "passed", ("ada", "guess"): "passed",
    ("bob", "scale"): "failed", ("bob", "guess"): "failed",
    ("cy", "scale"): "passed", ("cy", "guess"): "invalid",
    ("dee", "scale"): "failed", ("dee", "guess"): "invalid",
    ("eve", "scale"): "failed", ("eve", "guess"): "failed",
    ("fay", "scale"): "failed", ("fay", "guess"): "invalid",
}  # fmt: skip


def test_one_job_and_eight_give_the_same_bytes(program: Program) -> None:
    """With nothing remembered from one run to the other, only times may differ."""
    program.grade("one", "--jobs", "1", data="data1")
    program.grade("eight", "--jobs", "8", data="data8")
    assert {key: record.status for key, record in program.records("one").items()} == EXPECTED
    assert program.timeless("one") == program.timeless("eight")
    for name in ("grades.csv", "report.html", "students/ada.json", "students/bob.json", "students/fay.json"):
        assert (program.home / "one" / name).read_bytes() == (program.home / "eight" / name).read_bytes()
    text = b"".join(program.lines("one")).decode()
    for place in (str(program.home), str(Path(sys.prefix)), "/tmp", "0x7f"):
        assert place not in text

    # What a student sees of the hidden case is that it failed, whatever the attempt printed and raised.
    seen = (program.home / "one" / "students" / "fay.json").read_text()
    assert "secret" in text and "24, 128" in text
    sha256 = program.records("one")["fay", "scale"].attempt_sha256
    assert sha256 is not None and "secret" not in seen and "24" not in seen.replace(sha256, "")
    told = next(one for one in json.loads(seen)["exercises"] if one["exercise"] == "scale")
    assert told["hidden_cases"][0] == {"stage": "trace", "failed": 1, "total": 1}


def test_killed_in_the_middle_and_run_again(program: Program) -> None:
    for number in range(6):
        hand_in(program.folder / f"more{number:02}", scale=RIGHT + f"# {number}\n")
    process = program.start("out", "--jobs", "1")
    deadline = time.monotonic() + PATIENCE
    while len(program.lines("out")) < 6 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.kill()
    process.communicate()
    left = program.lines("out")
    assert 6 <= len(left) < 24
    with (program.home / "out" / "records.jsonl").open("ab") as file:
        file.write(left[0][: len(left[0]) // 2])  # as if the machine had gone down while a line was written
    program.grade("out", "--jobs", "2")
    assert len(program.lines("out")) == 24
    assert {key: one.status for key, one in program.records("out").items() if key in EXPECTED} == EXPECTED
    program.grade("whole")
    assert program.timeless("out") == program.timeless("whole")


def test_interrupted_and_run_again(program: Program) -> None:
    for number in range(4):
        hand_in(program.folder / f"more{number:02}", scale=RIGHT + f"# {number}\n")
    process = program.start("out", "--jobs", "1")
    deadline = time.monotonic() + PATIENCE
    while not program.lines("out") and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 4 and "the same command goes on where it was" in told
    done = program.records("out")
    assert 0 < len(done) < 20
    assert list(done) == sorted(done, key=lambda key: (key[0], key[1] == "guess"))
    program.grade("out")
    assert len(program.records("out")) == 20
    assert {key: timeless(one) for key, one in done.items()}.items() <= {
        key: timeless(one) for key, one in program.records("out").items()
    }.items()


def words(text: str) -> str:
    return " ".join(text.split())


def snapshot(folder: Path) -> dict[str, Any]:
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*") if path.is_file()}


def test_dry_runs_lower_scores_and_overrides(program: Program) -> None:
    said = program.grade("out", "--dry-run")
    assert "ada scale nothing -> passed 1" in words(said) and not (program.home / "out").exists()
    program.grade("out")
    before = snapshot(program.home / "out")

    # The exercise is corrected: now three times is right.
    oracle = program.root / "exercises" / "01_refs" / "01_scale" / "oracle.py"
    oracle.write_text(oracle.read_text().replace("* 2", "* 3"))
    said = program.grade("out", "--dry-run")
    assert "ada scale passed 1 -> failed 0 the earlier result stands" in words(said)
    assert "bob scale failed 0 -> passed 1" in words(said) and "guess" not in said.partition("\n\n")[0]
    assert snapshot(program.home / "out") == before

    process = program.start("out")
    _, told = process.communicate(timeout=PATIENCE)
    kept = sum(any(flag.code == "KT837" for flag in one.flags) for one in program.records("out").values())
    assert kept > 1 and f"{kept} results would have become lower and stand as they were." in told
    records = program.records("out")
    assert (records["ada", "scale"].score, records["bob", "scale"].score) == (1.0, 1.0)
    assert "KT837" in [flag.code for flag in records["ada", "scale"].flags]

    sha = records["bob", "scale"].attempt_sha256
    (program.home / "out" / "overrides.toml").write_text(
        f'[[override]]\nstudent = "cy"\nexercise = "scale"\nscore = 0.5\nreason = "talked about it"\n'
        f'[[override]]\nstudent = "bob"\nexercise = "scale"\nstatus = "suspicious"\nreason = "copied"\n'
        f'attempt_sha256 = "{sha}"\n'
        f'[[override]]\nstudent = "zoe"\nexercise = "scale"\nscore = 1\nreason = "nobody"\n'
    )
    process = program.start("out", "--accept-lower")
    _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and 'overrides.toml:12: override 3 is left out: there is no student "zoe".' in told
    records = program.records("out")
    assert (records["ada", "scale"].score, records["cy", "scale"].score) == (0.0, 0.5)
    assert "KT838" in [flag.code for flag in records["ada", "scale"].flags]
    assert (records["bob", "scale"].status, records["bob", "scale"].score) == ("suspicious", 0.0)


def test_a_broken_oracle_is_no_word_about_anybody(program: Program) -> None:
    oracle = program.root / "exercises" / "01_refs" / "01_scale" / "oracle.py"
    oracle.write_text("def make_inputs(rng, case):\n    return {}\n")
    said = program.grade("out", code=3)
    assert "Could not be judged (4):\n  ada scale: KT904 " in said and "`kerneltutor set check scale`" in said
    assert str(oracle.parent) in said
    records = program.records("out")
    assert records["ada", "scale"].status == "infra_error" and records["ada", "guess"].status == "passed"


def test_grading_says_what_checking_says(program: Program, warm: Warm) -> None:
    """On the same inputs a record's verdict is that of `check`; on the student's own, it differs in hidden cases and
    error figures alone."""
    program.grade("out")
    exercises = load_set(program.root)
    exercise = exercises.exercise("scale")
    secret = read_key(exercises.key_file)
    for student, source in (("ada", RIGHT), ("bob", THREE), ("dee", OUTSIDE)):
        graded = program.records("out")[student, "scale"].verdict
        assert graded is not None
        stages = tuple(stage.name for stage in graded.stages)
        same = warm.check(exercise, source.encode(), "scale.py", only=stages, hidden=True, key=secret)
        public = warm.check(exercise, source.encode(), "scale.py", only=stages)
        assert bare(same, figures=True) == bare(graded, figures=True)
        assert bare(public) == bare(graded)


def bare(verdict: Any, *, figures: bool = False) -> Any:
    """A verdict as plain data without times; without `figures` also without hidden cases and numbers."""
    data = msgspec.to_builtins(verdict)
    del data["seconds"]
    for stage in data["stages"]:
        del stage["seconds"]
        if not figures:
            cases, findings = stage["cases"], stage["findings"]
            stage["cases"] = [(case["name"], case["status"]) for case in cases if case["name"] != "secret"]
            stage["findings"] = [(one["code"], one["line"]) for one in findings if one["case"] != "secret"]
    return data
