"""Every verb: what it prints, what it changes, and its exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Done
from tests.unit.test_speeds import estimated
from tests.unit.verdicts import verdict
from tutor.cli.app import VERBS, load, run
from tutor.findings import codes
from tutor.record import open_history

Kt = Callable[..., Done]


def solve(slug: str) -> None:
    with open_history() as history:
        history.add("tiny", slug, b"", verdict())


# ---------------------------------------------------------------- list, next


def test_list(kt: Kt, tiny: Path) -> None:
    solve("scale")
    done = kt("list")
    assert done.code == 0
    assert done.out.splitlines() == [
        "01 Refs",
        "  ok 01  scale  Scale  1 attempt",
        "02 Blocks",
        "     01  guess  Guess",
    ]
    assert done.err == f"A tiny set (tiny, folder {tiny.resolve()}): 1 of 2 solved.\n"


def test_list_json(kt: Kt) -> None:
    solve("scale")
    listed = json.loads(kt("list", "--json").out)
    assert [(e["slug"], e["solved"], e["attempts"]) for e in listed["exercises"]] == [
        ("scale", True, 1),
        ("guess", False, 0),
    ]


def test_list_with_a_broken_exercise(kt: Kt, tiny: Path) -> None:
    (tiny / "exercises/02_blocks/01_guess/exercise.toml").write_text("slgu = 3\n")
    done = kt("list")
    assert done.code == 2
    assert "  !! 01  guess  broken" in done.out
    assert "exercise.toml:1: slgu: is not a known key." in done.err and '"slug"' in done.err
    assert kt("show", "scale").code == 0
    assert kt("show", "guess").code == 2


def test_list_without_a_usable_history(kt: Kt, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where a folder should be")
    done = kt("list")
    assert (done.code, "scale" in done.out) == (0, True)
    assert "Progress is not shown" in done.err


def test_next(kt: Kt, work: Path) -> None:
    done = kt("next")
    assert done.code == 0 and "scale" in done.out and str(work / "tiny/01_refs/01_scale.py") in done.out
    assert (work / "tiny/01_refs/01_scale.py").is_file()
    solve("scale")
    assert json.loads(kt("next", "--json").out)["slug"] == "guess"
    solve("guess")
    assert kt("next") == (0, "", "All 2 exercises are solved.\n")


# ---------------------------------------------------------------- show, hint, solution, reset


def test_show(kt: Kt, work: Path) -> None:
    done = kt("show", "scale")
    assert done.code == 0
    assert done.out.startswith("01 Refs / scale\nMultiply by a number.\n\n# Scale\n\nRead, multiply, write.\n")
    assert f"file      {work / 'tiny/01_refs/01_scale.py'}" in done.out
    shown = json.loads(kt("show", "scale", "--json").out)
    assert (shown["entry"], shown["hints"], shown["lesson"][:7]) == ("scale", 3, "# Scale")


def test_show_escapes_what_a_set_brings(kt: Kt, tiny: Path) -> None:
    (tiny / "exercises/01_refs/01_scale/lesson.md").write_text("bad \x1b[2J \u202e lesson\n")
    assert "bad \\x1b[2J \\u202e lesson" in kt("show", "scale").out


def test_show_where_no_file_can_be_made(kt: Kt, work: Path) -> None:
    work.write_text("a file where a folder should be")
    done = kt("show", "scale")
    assert (done.code, "# Scale" in done.out) == (0, True)
    assert "The workspace cannot be used" in done.err
    assert kt("reset", "scale").code == 2


def test_a_renumbered_file_is_said(kt: Kt, tiny: Path, work: Path) -> None:
    kt("show", "scale")
    (tiny / "exercises/01_refs/01_scale").rename(tiny / "exercises/01_refs/04_scale")
    done = kt("show", "scale")
    assert f"The set renumbered this exercise: {work / 'tiny/01_refs/01_scale.py'}" in done.err
    assert (work / "tiny/01_refs/04_scale.py").is_file()


def test_a_changed_starter_is_offered(kt: Kt, tiny: Path, work: Path) -> None:
    kt("show", "scale")
    (tiny / "exercises/01_refs/01_scale/starter.py").write_text("# better\n")
    assert "kerneltutor reset scale" in kt("show", "scale").err
    assert "# better" not in (work / "tiny/01_refs/01_scale.py").read_text()


def test_hints_come_one_at_a_time(kt: Kt) -> None:
    assert kt("hint", "scale").out == "Hint 1 of 3\nfirst\n"
    assert kt("hint", "scale").out == "Hint 2 of 3\nsecond\n"
    assert kt("hint", "scale", "--seen").out == "Hint 1 of 3\nfirst\nHint 2 of 3\nsecond\n"
    assert kt("hint", "scale").err == ""
    assert kt("hint", "scale") == (0, "Hint 3 of 3\nthird\n", "That was the last hint; there are no more.\n")
    assert json.loads(kt("hint", "scale", "--json").out) == {"slug": "scale", "used": 3, "of": 3, "hints": ["third"]}
    assert kt("hint", "guess", "--seen") == (0, "", "You have seen no hint of this exercise.\n")


def test_solution_after_a_pass(kt: Kt) -> None:
    done = kt("solution", "scale")
    assert (done.code, done.out) == (1, "")
    assert "once your attempt has passed" in done.err
    with open_history() as history:
        assert history.progress("tiny", "scale").revealed_at is None
    solve("scale")
    assert kt("solution", "scale") == (0, "def scale(x, *, bm):\n    return x * 2\n", "")
    with open_history() as history:
        assert history.progress("tiny", "scale").revealed_at is not None
    assert json.loads(kt("solution", "scale", "--json").out)["source"].startswith("def scale")


@pytest.mark.parametrize(("policy", "code"), [('when = "never"', 1), ('when = "tries", tries = 1', 0)])
def test_solution_by_other_policies(kt: Kt, tiny: Path, policy: str, code: int) -> None:
    manifest = tiny / "exercises/set.toml"
    manifest.write_text(manifest.read_text() + f"reveal = {{ {policy} }}\n")
    with open_history() as history:
        history.add("tiny", "scale", b"", verdict(False))
    assert kt("solution", "scale").code == code


def test_no_solution_of_a_predict_exercise(kt: Kt) -> None:
    solve("guess")
    done = kt("solution", "guess")
    assert done.code == 1 and "computed from the jaxpr" in done.err


def test_reset(kt: Kt, work: Path) -> None:
    path = work / "tiny/01_refs/01_scale.py"
    assert kt("reset", "scale") == (0, f"{path}\n", "The file was the starter already.\n")
    path.write_text("mine")
    done = kt("reset", "scale")
    kept = work / "tiny/01_refs/01_scale.kept-1.py"
    assert (done.code, done.err) == (0, f"Your file is kept as {kept}.\n")
    assert kept.read_text() == "mine"


# ---------------------------------------------------------------- progress


def test_progress(kt: Kt) -> None:
    solve("scale")
    kt("hint", "guess")
    done = kt("progress")
    assert done.code == 0
    assert [line.split()[:7] for line in done.out.splitlines()[1:]][1] == ["02", "Blocks", "0", "of", "1", "0", "1"]
    assert json.loads(kt("progress", "--json").out)["solved"] == 1


def test_progress_goes_to_another_machine(kt: Kt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    solve("scale")
    file = str(tmp_path / "progress.json")
    assert kt("progress", "export", file).code == 0
    exported = kt("progress", "export").out
    assert json.loads(exported)["schema"] == "kerneltutor.progress/1"
    monkeypatch.setenv("KERNELTUTOR_DATA", str(tmp_path / "elsewhere"))
    solve("guess")
    assert kt("progress", "merge", file).err == f"{file}: 1 new attempt, 0 known already.\n"
    assert json.loads(kt("progress", "--json").out)["solved"] == 2
    done = kt("progress", "import", file)
    assert "1 attempt imported." in done.err and "kept-1" in done.err
    assert json.loads(kt("progress", "--json").out)["solved"] == 1


def test_progress_from_a_bad_file(kt: Kt, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("[]")
    solve("scale")
    assert kt("progress", "import", str(tmp_path / "bad.json")).code == 2
    assert kt("progress", "import", str(tmp_path / "none.json")).code == 2
    assert kt("progress", "merge").code == 2
    assert json.loads(kt("progress", "--json").out)["solved"] == 1


# ---------------------------------------------------------------- explain, doctor


@pytest.mark.parametrize("code", ["KT401", "kt401", "401"])
def test_explain(kt: Kt, code: str) -> None:
    done = kt("explain", code)
    assert done.code == 0 and done.out.startswith("KT401  ")


def test_explain_json_has_the_whole_page(kt: Kt) -> None:
    page = json.loads(kt("explain", "KT401", "--json").out)
    assert set(page) == {"code", "title", "meaning", "cause", "fix", "example", "lesson"}


def test_explain_unknown(kt: Kt) -> None:
    done = kt("explain", "KT499")
    assert done.code == 2 and 'There is no code "KT499"' in done.err
    assert "There are KT401 to KT4" in done.err and "docs/findings.md" in done.err
    assert "Did you mean" in kt("explain", "KT4o1").err


def test_explain_a_hundred_without_codes(kt: Kt) -> None:
    assert f"There are {codes()[0]} to {codes()[-1]}" in kt("explain", "KT099").err


def test_an_unknown_command_always_has_a_next_step(kt: Kt) -> None:
    assert "`kerneltutor --help` lists all commands." in kt("qqqq").err
    assert 'Did you mean "check"?' in kt("chekc").err


def test_an_unknown_chip_lists_those_there_are(kt: Kt) -> None:
    done = kt("check", "scale", "--chip", "v7")
    assert done.code == 2 and "Known: v4, v5e, v5p, v6e, tpu7x." in done.err


def test_a_next_step_names_the_set_again(kt: Kt, tiny: Path) -> None:
    assert f"`kerneltutor hint scale --set {tiny}` gives a hint." in kt("solution", "scale").err
    assert f"`kerneltutor list --set {tiny}` shows all" in kt("show", "zzzzqq").err


def test_a_set_of_the_environment_is_not_named_again(
    tiny: Path, work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KERNELTUTOR_SET", str(tiny))
    assert run(["solution", "scale"]) == 1
    assert "`kerneltutor hint scale` gives a hint." in capsys.readouterr().err


def test_a_copy_without_solutions_promises_none(kt: Kt, tiny: Path) -> None:
    (tiny / "solutions/01_refs/01_scale/reference.py").unlink()
    done = kt("solution", "scale")
    assert done.code == 1 and done.err == "This copy of the set has no solutions.\n"


def test_doctor(kt: Kt, work: Path) -> None:
    report = json.loads(kt("doctor", "--json").out)
    found = {check["name"]: check for check in report["checks"]}
    assert {"python", "jax", "jaxlib", "libtpu", "TPU", "terminal", "isolation", "workspace", "history"} <= set(found)
    assert found["workspace"]["detail"] == str(work)
    assert "tpu" in report["libtpu_command"]
    assert not work.exists()
    assert kt("doctor").code == 0


def test_doctor_says_what_is_wrong(kt: Kt, tiny: Path, work: Path) -> None:
    work.write_text("")
    manifest = tiny / "exercises/set.toml"
    manifest.write_text(manifest.read_text().replace(">=0.12,<0.13", ">=99"))
    found = {check["name"]: check for check in json.loads(kt("doctor", "--json").out)["checks"]}
    assert (found["workspace"]["status"], found["jax"]["status"]) == ("problem", "problem")


# ---------------------------------------------------------------- the program as a whole


def test_every_verb_loads_and_says_its_name() -> None:
    for name, lazy in VERBS.items():
        assert load(lazy.place).name == name


@pytest.mark.parametrize(
    ("arguments", "code", "hint"),
    [
        (["show", "scal"], "unknown_exercise", '"scale"'),
        (["lst"], "unknown_command", '"list"'),
        (["list", "--jsn"], "usage", "--help"),
        (["show"], "usage", "--help"),
        (["explain", "KT999"], "unknown_code", ""),
        (["list", "--set", "/no/such/set"], "unknown_set", ""),
    ],
)
def test_errors_as_words_and_as_json(kt: Kt, arguments: list[str], code: str, hint: str) -> None:
    done = kt(*arguments)
    assert (done.code, done.out) == (2, "") and done.err
    done = kt(*arguments, "--json")
    error = json.loads(done.out)
    assert (done.code, error["schema"], error["code"]) == (2, "kerneltutor.error/1", code)
    assert hint in (error["hint"] or "") or hint in error["message"]


def test_shared_options_stand_before_or_after(kt: Kt, tiny: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    for order in (["--workspace", str(other), "show", "scale"], ["show", "scale", "--workspace", str(other)]):
        assert str(other / "tiny/01_refs/01_scale.py") in kt(*order).out
    assert kt("--set", str(tiny), "list").code == 0


def test_our_own_fault_is_three(kt: Kt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tutor.cli.listing.state", lambda _: 1 / 0)
    done = kt("list")
    assert done.code == 3
    assert "kerneltutor itself failed: ZeroDivisionError" in done.err and "Traceback" in done.err


def test_interrupted_is_four(kt: Kt, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tutor.cli.listing.state", interrupt)
    assert kt("list").code == 4


def test_version_and_help(kt: Kt) -> None:
    assert kt("--version").out.startswith("kerneltutor ")
    assert kt("list", "--version").out.startswith("kerneltutor ")
    text = kt("--help").out
    assert all(f"  {name} " in text for name in VERBS)


def test_no_colour_unless_it_is_a_terminal(kt: Kt, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in kt("list").out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    from tutor.cli.session import Session

    assert Session().color
    assert not Session(no_color=True).color
    monkeypatch.setenv("NO_COLOR", "1")
    assert not Session().color


def test_python_m_is_the_same_program() -> None:
    from tutor.__main__ import main

    assert callable(main) and run is sys.modules["tutor.cli.app"].run


def test_progress_shows_speeds(kt: Kt) -> None:
    assert "No attempt at this exercise has a time" in kt("progress", "speed", "scale").err
    with open_history() as history:
        for us in (900.0, 450.0):
            said = verdict(compile=[estimated("v5e", us, 300.0)])
            history.add("tiny", "scale", b"x", said)
    done = kt("progress", "speed", "scale")
    assert done.code == 0
    assert done.out.startswith("Estimate for v5e, case big: 900 µs, now 450 µs, reference 300 µs\n")
    assert "● passed" in done.out and done.out.rstrip().endswith("1.50")
    found = json.loads(kt("progress", "speed", "scale", "--json").out)["speeds"]
    assert [(one["chip"], one["clock"], one["attempt_us"]) for one in found] == [
        ("v5e", "estimate", 900.0), ("v5e", "estimate", 450.0),
    ]  # fmt: skip
    by_slug = {one["slug"]: one["speeds"] for one in json.loads(kt("progress", "--json").out)["exercises"]}
    assert len(by_slug["scale"]) == 2
    assert kt("progress", "speed", "no_such").code == 2
