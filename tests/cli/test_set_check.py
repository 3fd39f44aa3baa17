"""`set check` as its author reads it: what is wrong is named once, with its place and the next command."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Done
from tests.unit.verdicts import verdict
from tutor.cli.app import run
from tutor.cli.render_proof import Outcome, margin_lines, program_lines, summary
from tutor.findings import finding
from tutor.ladder.proof import Margins, Program, Proved, broken_exercise
from tutor.ladder.verdict import stage_result
from tutor.protocol import Verdict

Kt = Callable[..., Done]
ORACLE = """\
import numpy as np

def make_inputs(rng, case):
    return {spec.name: np.ones(spec.shape, np.float32) for spec in case.inputs}

def expected(inputs, case):
    return inputs["nosuch"]
"""
SCALE = Path("exercises/01_refs/01_scale")


def failing(*codes: str, case: str | None = None, line: int | None = None) -> Verdict:
    found = [finding(code, "Words.", case=case, line=line) for code in codes]
    return verdict(passed=False, stages=[stage_result("interpret", found)])


def lines_of(one: Proved, hidden: tuple[str, ...] = ()) -> list[str]:
    return program_lines(one, "kerneltutor check scale /a/reference.py", hidden, 80, color=False)


def test_a_program_that_fails_says_why_and_how_to_see_more() -> None:
    one = Proved(Program("reference", "/a/reference.py"), "must pass, but interpret fails", failing("KT201", line=12))
    first, *rest = lines_of(one)
    assert re.match(r"  !!  reference.py +must pass ", first) and "passes" not in first
    assert rest[0] == "      It must pass, but interpret fails."
    assert rest[1].startswith("      KT201 ") and "(interpret, line 12)" in " ".join(rest)
    assert rest[-1] == "      kerneltutor check scale /a/reference.py"
    assert all(len(line) <= 80 for line in rest)


def test_a_hidden_case_is_named_as_one_that_check_does_not_run() -> None:
    one = Proved(Program("reference", "r.py"), "must pass, but interpret fails", failing("KT201", case="secret"))
    said = "\n".join(lines_of(one, ("secret",)))
    assert "hidden case secret" in said and "public cases only" in said
    assert "public cases only" not in "\n".join(lines_of(one))


def test_a_wrong_answer_that_is_not_caught_does_not_read_as_caught() -> None:
    one = Proved(Program("wrong", "wrong_a.py", "hazards", "KT401"), "must fail, but passes", verdict())
    assert "must be hazards KT401" in lines_of(one)[0]


@pytest.mark.parametrize(
    ("right", "wrong", "good", "words"),
    [
        (None, None, True, "margins: no numbers to compare"),
        (25.0, 40.0, True, "right answers 25.00x inside the bound; wrong ones 40.00x outside"),
        (None, 71182.9, True, "right answers show no error; wrong ones 71,183x outside"),
        (25.0, 0.0, False, "a wrong answer has no error at all"),
        (25.0, 0.4, False, "its error is 40% of it"),
        (0.5, None, False, "a right answer is outside the bound"),
    ],
)
def test_margins_in_words(right: float | None, wrong: float | None, good: bool, words: str) -> None:
    lines = margin_lines(Margins(right, wrong), 80, color=False)
    assert words in " ".join(" ".join(lines).split())
    assert lines[0].startswith("  ok" if good else "  !!") and all(len(line) <= 80 for line in lines)


def test_the_last_line_counts_and_names_what_failed() -> None:
    good, bad = Outcome("scale", 14, ()), Outcome("guess", 3, ("answers",))
    assert summary([good], 80) == ["1 exercise, 14 programs judged: all as it must be."]
    assert summary([good, bad], 99) == ["2 exercises, 17 programs judged: not as it must be: guess (answers)."]


def test_a_broken_oracle_is_told_from_a_wrong_program() -> None:
    broken = stage_result(
        "interpret", [finding("KT904", "oracle.py:2: no.")], status="error", reason="oracle.py:2: no."
    )
    assert broken_exercise(verdict(passed=False, stages=[broken])) == "oracle.py:2: no."
    assert broken_exercise(failing("KT201")) is None
    assert broken_exercise(failing("KT904")) is None  # a stage that ran


def test_a_broken_oracle_is_said_once_and_the_next_exercise_goes_on(kt: Kt, tiny: Path) -> None:
    (tiny / SCALE / "oracle.py").write_text(ORACLE)
    (tiny / SCALE / "starter.py").write_text("def scale(x, *, bm, flag=False):\n    return x\n")
    (tiny / "solutions/01_refs/01_scale/reference.py").write_text(
        "def scale(x, *, bm, flag=False):\n    return x * 2\n"
    )
    done = kt("set", "check")
    assert done.code == 1
    assert done.out.count("oracle.py:7: ") == 1 and "KeyError: 'nosuch'" in done.out.replace("\n      ", " ")
    assert "reference.py" not in done.out and "guess" in done.out


# ---------------------------------------------------------------- an exercise's files


def set_check(kt: Kt, slug: str = "scale") -> str:
    done = kt("set", "check", slug)
    assert done.code == 1
    return " ".join(done.out.split())


def test_an_unknown_code_of_a_diagnosis(kt: Kt, tiny: Path) -> None:
    path = tiny / SCALE / "exercise.toml"
    path.write_text(path.read_text().replace('when = "KT201"', 'when = "KT299"'))
    said = set_check(kt)
    line = path.read_text().splitlines().index('when = "KT299"') + 1
    assert f'exercise.toml:{line}: diagnosis[0].when: there is no code "KT299". Did you mean "KT' in said


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("# expect: interprt KT201", 'wrong_three.py:1: "interprt" is no stage. Did you mean "interpret"?'),
        ("# expect: interpret KT299", 'wrong_three.py:1: there is no code "KT299". Did you mean "KT'),
        ("# interpret KT201", 'wrong_three.py:1: must begin with "# expect: STAGE KTnnn"'),
    ],
)
def test_a_wrong_header(kt: Kt, tiny: Path, header: str, words: str) -> None:
    (tiny / "solutions/01_refs/01_scale/wrong_three.py").write_text(f"{header}\n# by three\n")
    assert words in set_check(kt)


def test_missing_and_misnamed_files(kt: Kt, tiny: Path) -> None:
    solutions = tiny / "solutions/01_refs/01_scale"
    (tiny / SCALE / "lesson.md").unlink()
    (solutions / "hidden.toml").unlink()
    (solutions / "wrong-copies.py").write_text("")
    (solutions / "refrence.py").write_text("")
    (solutions / "NOTES.md").write_text("")
    said = set_check(kt)
    assert "lesson.md: the file is missing." in said
    assert "hidden.toml: there is none" in said
    assert 'wrong-copies.py: nothing reads this file. Did you mean "wrong_copies.py"?' in said
    assert 'refrence.py: nothing reads this file. Did you mean "reference.py"?' in said
    assert "NOTES.md" not in said
    assert "its files" in said


# ---------------------------------------------------------------- which set


def test_the_set_of_the_folder(
    tiny: Path, work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tiny / SCALE)
    monkeypatch.delenv("KERNELTUTOR_SET", raising=False)
    (tiny / SCALE / "lesson.md").unlink()
    assert run(["set", "check", "scale"]) == 1
    out, err = capsys.readouterr()
    assert "lesson.md: the file is missing" in " ".join(out.split())
    assert err.splitlines()[0] == f"No --set was given: this is about the set of this folder, {tiny.resolve()}."
    assert f"Proving the set tiny (folder {tiny.resolve()}): 1 exercise." in err


def test_a_set_that_is_named_goes_before_the_folder(
    tiny: Path, work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tiny)
    monkeypatch.setenv("KERNELTUTOR_SET", "nosuch")
    assert run(["set", "check"]) == 2
    assert 'There is no exercise set "nosuch"' in capsys.readouterr().err
