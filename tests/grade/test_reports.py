"""What is made of records: nothing hidden in a student's file, no formula in the table, no markup in the report."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from tests.grade.test_journal import record
from tests.unit.verdicts import stage, verdict
from tutor.findings import finding
from tutor.grade.exports import COLUMNS, cell, export, row
from tutor.grade.journal import Journal
from tutor.grade.records import Flag, GradeRecord
from tutor.grade.seen import CaseNames, report
from tutor.protocol import CaseError, CaseResult, StageResult
from tutor.sets import ExerciseSet

CASES = {"scale": CaseNames(frozenset({"small", "wide"}), frozenset({"secret"}))}
HIDDEN = ("secret", "4711", "24x64", "0.0815", "psst")
"""Words that only hidden cases know."""


def leaky() -> GradeRecord:
    """A record in which everything that can speak of a hidden case does."""
    error = CaseError(relative_l2=0.0815, max_abs=4711.0, first_bad=[4711, 1])
    numbers = StageResult(
        "interpret", "failed", 0.5, "psst: 24x64",
        [
            finding("KT203", "1 of 3 is wrong (`secret`): m is 24x64.", case="small"),
            finding("KT201", "At [4711, 1].", case="secret", raw="psst", hint="psst", line=4711),
            finding("KT201", "At [0, 0] it is 3.", case="small", raw="printed 24x64", line=3),
            finding("KT108", "It left with exit code 1.", raw="psst 24x64", line=4711),
        ],
        [CaseResult("small", "failed"), CaseResult("wide", "passed"), CaseResult("secret", "failed", error)],
    )  # fmt: skip
    structure = StageResult("structure", "failed", 0.1, None, [finding("KT302", "psst", case="secret")])
    judged = verdict(stages=[stage("load"), numbers, structure], output="shape is 24x64, psst", score=0.5)
    flags = [
        Flag("KT803", "There are several.", "psst"),
        Flag("KT837", "An earlier result stands.", "psst 4711"),
        Flag("KT834", "Set by the instructor.", "psst: copied from a friend"),
    ]
    return record("ada", verdict=judged, status="partial", score=0.5, flags=flags)


def test_a_student_sees_nothing_of_hidden_cases(small: ExerciseSet) -> None:
    seen = msgspec.json.encode(report(small, "ada", [leaky()], CASES)).decode()
    for word in HIDDEN:
        assert word in msgspec.json.encode(leaky()).decode()
        assert word not in seen
    told = json.loads(seen)["exercises"][0]
    assert told["hidden_cases"] == [
        {"stage": "interpret", "failed": 1, "total": 1},
        {"stage": "structure", "failed": 1, "total": 1},
    ]


def test_a_student_sees_all_of_public_cases(small: ExerciseSet) -> None:
    [seen] = report(small, "ada", [leaky()], CASES).exercises
    numbers = next(one for one in seen.stages if one.name == "interpret")
    assert [(found.code, found.message, found.line) for found in numbers.findings] == [
        ("KT201", "At [0, 0] it is 3.", 3),
        ("KT108", "", None),
    ]
    assert [case.name for case in numbers.cases] == ["small", "wide"]
    assert [flag.code for flag in seen.remarks] == ["KT803", "KT834"]


def test_without_hidden_cases_nothing_is_withheld(small: ExerciseSet) -> None:
    cases = {"scale": CaseNames(frozenset({"small", "wide", "secret"}), frozenset())}
    [seen] = report(small, "ada", [leaky()], cases).exercises
    assert [found.code for found in seen.stages[1].findings] == ["KT203", "KT201", "KT201", "KT108"]
    assert seen.hidden_cases == []


# ---------------------------------------------------------------- the table

EVIL = ['=cmd|"/c calc"!A1', "+1+1", "-2+3", "@SUM(A1)", " =1", "\t=1", "＝1", "a,b", 'q"uote', "ü"]


@pytest.mark.parametrize("name", EVIL)
def test_no_cell_is_a_formula(name: str) -> None:
    table = io.StringIO()
    csv.writer(table, quoting=csv.QUOTE_NONNUMERIC).writerow(row(record(name)))
    [read] = list(csv.reader(io.StringIO(table.getvalue())))
    assert read[0].removeprefix("'") == name
    assert not read[0].lstrip(" ").startswith(("=", "+", "-", "@", "\t", "＝"))
    assert table.getvalue().startswith('"')


def test_plain_text_is_left_alone() -> None:
    assert [cell(text) for text in ("ada", "a-b", "x=y", "Ada Lovelace")] == ["ada", "a-b", "x=y", "Ada Lovelace"]


def exported(small: ExerciseSet, out: Path, *records: GradeRecord) -> str:
    with Journal(out, write=True) as journal:
        for one in records:
            journal.add(one)
        journal.finish(sorted(one.key for one in records))
        export(out, journal, small, ["a <b>note</b>"])
    return (out / "report.html").read_text()


def test_the_table_has_the_columns_of_the_format(small: ExerciseSet, tmp_path: Path) -> None:
    exported(small, tmp_path, record("ada", late_seconds=60), record("bob", verdict=None, status="invalid", score=0.0))
    rows = list(csv.DictReader((tmp_path / "grades.csv").open()))
    assert tuple(rows[0]) == COLUMNS
    assert [(r["student"], r["status"], r["score"], r["late_seconds"], r["attempt_sha256"]) for r in rows] == [
        ("ada", "passed", "1.0", "60", "0" * 64),
        ("bob", "invalid", "0.0", "", ""),
    ]


# ---------------------------------------------------------------- the instructor's report

MARKUP = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&{{ 7*7 }}"


def test_nothing_in_the_report_is_markup(small: ExerciseSet, tmp_path: Path) -> None:
    evil = record(MARKUP, status="suspicious", flags=[Flag("KT805", MARKUP, MARKUP + "\x1b[31m\u202e")])
    html = exported(small, tmp_path, evil, record("ada"))
    assert "<script" not in html and "<img" not in html and "<b>note" not in html
    assert "&lt;script&gt;" in html and "{{ 7*7 }}" in html
    assert "\x1b" not in html and "\u202e" not in html
    assert "default-src &#39;none&#39;; style-src &#39;sha256-" in html


def test_the_report_names_what_is_worth_a_look(small: ExerciseSet, tmp_path: Path) -> None:
    html = exported(small, tmp_path, leaky(), record("bob", status="suspicious", score=0.0), record("cy"))
    look = html[html.index("Worth a look") : html.index("The same file")]
    assert "ada" in look and "bob" in look and "cy" not in look
    same = html[html.index("The same file") : html.index("<h2>Students")]
    assert "scale: 3 students: ada, bob, cy" in same
    assert "KT201" in html


def test_files_of_students_stay_in_their_folder(small: ExerciseSet, tmp_path: Path) -> None:
    names = ["../../evil", "con", "a/b", "Ada", "ada", "\\x1b", "ü"]
    html = exported(small, tmp_path / "out", *(record(name) for name in names))
    written = sorted(path.name for path in (tmp_path / "out" / "students").iterdir())
    assert len(written) == len(names)
    assert {json.loads((tmp_path / "out" / "students" / name).read_text())["student"] for name in written} == set(names)
    assert [path.name for path in tmp_path.iterdir() if path.name not in ("out", "set")] == []
    assert all(f'href="students/{name}"' in html for name in written)


@pytest.mark.skipif(not (shutil.which("chromium") or shutil.which("google-chrome")), reason="needs a browser")
def test_a_browser_runs_nothing_of_the_report(small: ExerciseSet, tmp_path: Path) -> None:
    evil = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    exported(small, tmp_path, record(evil, status="suspicious", flags=[Flag("KT805", evil, evil)]))
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    assert browser is not None
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", str(tmp_path / "report.html")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert "Grades: A tiny set" in done.stdout and "owned</title>" not in done.stdout
