"""Verdicts as text, compared with goldens. `UPDATE_GOLDENS=1 pytest tests/cli/test_render.py` writes them anew."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec
import pytest

from tests.unit.verdicts import stage, verdict
from tutor.cli.render import render_verdict
from tutor.findings import finding
from tutor.protocol import (
    STAGES,
    Access,
    CaseError,
    CaseResult,
    Compilation,
    Kernel,
    Schedule,
    StageResult,
    Timing,
    Verdict,
)

GOLDENS = Path(__file__).parent / "goldens"
SOURCE = "import jax\n\ndef kernel(a_ref, o_ref):\n\to_ref[...] += a_ref[...]\n    o_ref[...] += a_ref[...]\n"

LOAD = Access(
    ref="a_ref", space="vmem", kind="load", line=5, column=18, shape=[128, 128], dtype="bfloat16",
    per_step=1, branch=False, bytes_per_step=32768,
)  # fmt: skip
STORE = msgspec.structs.replace(
    LOAD, ref="o_ref", kind="accumulate", dtype="float32", per_step=None, branch=True, bytes_per_step=None
)
KERNEL = Kernel(
    name="kernel", primitive="pallas_call", facts_case="small", grid=[4, 2, None], operands=[], accesses=[LOAD, STORE],
    loads=1, stores=0, accumulates=None, copies=0, bytes_in=2 << 20, bytes_out=1500,
)  # fmt: skip
UNWRITTEN = finding(
    "KT401",
    "The output block is read before anything was written to it. In VMEM there is whatever was there before.",
    line=5,
    column=4,
    case="small",
    hint="Write zeros at the first step.",
    raw="ValueError: uninitialised\n\n  more\n  and more",
)


def failed() -> Verdict:
    cases = [
        CaseResult(name="small", status="passed"),
        CaseResult("wide", "failed", CaseError(0.0123, 0.5, [0, 130], [0, 1], [0, 1, 31])),
    ]
    return verdict(
        False,
        kernels=[KERNEL],
        stages=[
            stage("load"),
            stage("trace"),
            StageResult(name="interpret", status="failed", seconds=0.31, cases=cases, findings=[UNWRITTEN]),
            stage("structure", "error", reason="A worker ended: signal 9."),
            stage("hazards", "skipped", reason="trace did not pass."),
            stage("lower"),
            stage("device", "unavailable", reason="There is no TPU here."),
        ],
        output="hello\n" * 3,
    )


def passed() -> Verdict:
    schedule = Schedule(
        total_us=12.345, per_step_us=1.0, bound="memory", bytes_read=5, wait_share=0.1, spill_share=0.0,
        units={}, notes=[],
    )  # fmt: skip
    return verdict(
        stages=[stage(name) for name in STAGES],
        compile=[Compilation("v5e", "small", "passed", 1 << 20, 16 << 20, 128 << 20, [], schedule)],
        timing=Timing("TPU v5 lite", 11.0, 10.0, 1.1, 1.05, 1.15, "device", []),
    )


def predict() -> Verdict:
    wrong = finding("KT380", "loads_x: you wrote 3.", severity="error")
    return verdict(False, exercise="guess", stages=[stage("load"), stage("structure", "failed", wrong)])


@pytest.mark.parametrize(
    ("name", "what", "width"),
    [("failed_80", failed, 80), ("failed_40", failed, 40), ("passed_80", passed, 80), ("predict_80", predict, 80)],
)
def test_golden(name: str, what: object, width: int) -> None:
    assert callable(what)
    text = render_verdict(what(), source=SOURCE, width=width)
    path = GOLDENS / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDENS"):
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize("what", [failed, passed, predict])
def test_colour_adds_nothing_but_colour(what: object) -> None:
    assert callable(what)
    coloured = render_verdict(what(), source=SOURCE, color=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[\d+m", "", coloured) == render_verdict(what(), source=SOURCE)


def test_the_second_question_is_not_green_when_it_was_not_asked() -> None:
    """No libtpu, or no compile stage at all: the answer is open."""
    absent = verdict(stages=[stage(n) for n in STAGES if n != "compile"])
    missing = verdict(
        stages=[stage(n) if n != "compile" else stage(n, "unavailable", reason="No libtpu.") for n in STAGES]
    )
    for one in (absent, missing):
        text = render_verdict(one, color=True)
        assert "Is the layout legal?\x1b[0m  \x1b[33myes so far; not all was asked" in text
    assert "No libtpu." in render_verdict(missing)


EVIL = "\x1b[2J\x07\r\u202e\x9b31m"


def test_learners_text_cannot_move_the_cursor() -> None:
    evil = msgspec.structs.replace(UNWRITTEN, message=f"a{EVIL}b", raw=EVIL, hint=EVIL, case=EVIL)
    access = msgspec.structs.replace(LOAD, ref=EVIL)
    text = render_verdict(
        verdict(
            False,
            exercise=None,
            attempt=msgspec.structs.replace(verdict().attempt, path=f"x{EVIL}.py"),
            stages=[
                StageResult(
                    name="load",
                    status="failed",
                    reason=EVIL,
                    findings=[evil],
                    cases=[CaseResult(EVIL, "failed", CaseError(None, None))],
                )
            ],
            kernels=[msgspec.structs.replace(KERNEL, name=EVIL, facts_case=EVIL, accesses=[access])],
            output=EVIL,
        ),
        source=f"1\n2\n3\n4\nbad {EVIL}\n",
    )
    assert not set(text) & set("\x1b\x07\r\u202e\x9b")
    assert "\\x1b[2J" in text


def test_a_traceback_is_told_by_its_last_line() -> None:
    traced = finding("KT101", "It failed.", raw="Traceback (most recent call last):\n  File x\nKeyError: 'y'\n")
    text = render_verdict(verdict(False, stages=[stage("load", "failed", traced)]))
    assert "In full: KeyError: 'y'  [2 more lines]" in text


def test_lines_are_counted_as_python_counts_them() -> None:
    text = render_verdict(failed(), source="a\x0cb\nc\u2028d\r\ne\rf\nthe fifth\n")
    assert "line 5 | the fifth" in text


def test_a_line_outside_the_source() -> None:
    assert "       line 5\n" in render_verdict(failed(), source="short\n")
    assert "       line 5\n" in render_verdict(failed())


def test_long_output_is_cut() -> None:
    text = render_verdict(verdict(output="x\n" * 30))
    assert "  … 10 more lines" in text


def test_narrow_lines_fit() -> None:
    assert max(len(line) for line in render_verdict(failed(), source=SOURCE, width=60).splitlines()) <= 80


def test_a_broken_exercise_is_said_once() -> None:
    where = "01_refs/01_scale/oracle.py:2: `expected` of the oracle failed: KeyError: 'y'"
    met = [stage(name, "error", finding("KT904", where), reason=where) for name in ("interpret", "hazards")]
    text = render_verdict(verdict(passed=False, stages=[stage("load"), *met]))
    assert " ".join(text.split()).count("oracle.py:2") == 1
    assert "the exercise itself is broken" in text and "the tutor itself" not in text


def test_a_run_of_some_stages_does_not_read_as_a_pass() -> None:
    asked = render_verdict(verdict(stages=[stage("load")], score=1.0))
    assert asked.splitlines()[0] == "scale  load passed; the rest was not asked  1.5 s"
    no_chip = render_verdict(verdict(stages=[stage("load"), stage("device", "unavailable")]))
    assert "nothing failed; the rest was not asked" in no_chip.splitlines()[0]
    refused = render_verdict(verdict(passed=False, stages=[stage("load", "failed")]))
    assert refused.splitlines()[0] == "scale  NOT PASSED  1.5 s"
