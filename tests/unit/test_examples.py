"""The catalogue keeps its word: every page's example shows its code, and every code that is said has a page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.warm import Warm, findings
from tutor.cli.app import run
from tutor.findings import codes, page
from tutor.protocol import Limits, StageName, Verdict
from tutor.sets import ExerciseSet, find_set, load_set

SOURCES = Path(__file__).parents[2] / "tutor"

GRADING = tuple(
    code for code in codes() if "KT800" <= code <= "KT809" or "KT830" <= code <= "KT849" or "KT870" <= code <= "KT889"
)
NO_PROGRAM = {
    "KT102": "text cannot hold what is not UTF-8; the test below writes the bytes",
    "KT205": "whatever is known to stop interpret mode makes the stage unavailable",
    "KT314": "an exercise's own oracle says it; the test below writes one",
    "KT390": "both witnesses come from one trace, so no honest program parts them",
    "KT391": "comes in exercises only, beside any finding of `lower`",
    **dict.fromkeys(("KT393", "KT394", "KT395", "KT396"), "in exercises only; tests/judge/test_mosaic.py shows it"),
    "KT397": "no index map is known that only one of both witnesses can follow",
    "KT601": "every message of the compiler that is known has a code of its own",
    "KT608": "no kernel is known that crashes the compiler",
    "KT612": "it depends on the version of libtpu",
    "KT609": "how long the compiler takes depends on the machine",
    "KT611": "takes arrays of many GiB",
    **dict.fromkeys(("KT701", "KT702", "KT703", "KT704", "KT705", "KT706", "KT707", "KT708", "KT709"), "takes a TPU"),
    **dict.fromkeys(GRADING, "comes of grading a class"),
    "KT810": "JAX refuses to export a program like that", "KT812": "what JAX exports can be read",
    "KT816": "depends on the machine",
    **dict.fromkeys(("KT850", "KT851", "KT852", "KT853", "KT854", "KT855"), "is about an archive, not about a kernel"),
    "KT860": "is about a copy of a set without solutions",
    "KT901": "a fault of the tutor itself", "KT902": "a worker that dies", "KT903": "a worker that answers nonsense",
    "KT904": "an exercise that is broken",
}  # fmt: skip
"""Codes whose page has only a comment for an example, and why."""

RESERVED = {
    "KT314": "oracles of exercises give it",
}
"""Codes that have a page, and that nothing in the tutor says by itself."""

STAGE_OF_DIGIT: dict[str, StageName] = {
    "1": "trace", "2": "interpret", "3": "structure", "4": "hazards", "5": "lower", "6": "compile", "8": "load"
}  # fmt: skip
STAGE_OF: dict[str, StageName | None] = {
    "KT111": "structure", "KT124": "lower", "KT128": None, "KT208": None, "KT212": None,
    "KT811": "lower", "KT347": "interpret", "KT348": "interpret", "KT349": "interpret", "KT351": "interpret",
}  # fmt: skip
"""Where a code is said by another stage than its number tells; None: a whole check."""


def is_program(code: str) -> bool:
    lines = [line for line in page(code).example.splitlines() if line.strip()]
    return not all(line.startswith("#") for line in lines)


def needs_rules(code: str) -> str | None:
    """The `[rules]` that an exercise must have for the example to break them."""
    said = re.search(r"^# This needs an exercise whose rules say `(.*?)`", page(code).example.lstrip())
    return said[1] if said else None


@pytest.fixture(scope="module")
def course() -> ExerciseSet:
    return load_set(find_set(None))


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Endless loops are stopped soon."""
    monkeypatch.setattr("tutor.ladder.tracing.TRACE_LIMITS", Limits(wall_seconds=3))
    monkeypatch.setattr("tutor.ladder.interpret.HANG_LIMITS", Limits(wall_seconds=4))
    monkeypatch.setattr("tutor.ladder.hazards.HANG_LIMITS", Limits(wall_seconds=4))


@pytest.mark.parametrize("code", [c for c in codes() if is_program(c) and needs_rules(c) is None])
def test_example_shows_its_code(
    code: str, warm: Warm, course: ExerciseSet, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if code in ("KT106", "KT206", "KT406"):
        request.getfixturevalue("impatient")
    text = page(code).example
    target = STAGE_OF[code] if code in STAGE_OF else STAGE_OF_DIGIT[code[2]]
    if attempt := re.match(r"# an attempt at (\w+)$", text.splitlines()[0]):
        verdict = warm.check(course.exercise(attempt[1]), text.encode(), f"{code}.py", target=target)
    else:
        chips = re.match(r"# compile with --chip (\w+)", text)
        names = (chips[1],) if chips else ("v5e",)
        jail = code in ("KT813", "KT814", "KT815")  # outside, a run may write and ask for whatever it likes
        verdict = warm.inspect(tmp_path / f"{code}.py", text.encode(), target=target, chips=names, jail=jail)
    assert code in said(verdict)


def said(verdict: Verdict) -> list[str]:
    return [found.code for found in findings(verdict)]


def test_not_utf8(warm: Warm, tmp_path: Path) -> None:
    source = "def run(x):\n    return x\n".encode("utf-16")
    assert said(warm.inspect(tmp_path / "KT102.py", source, target="load")) == ["KT102"]


# ---------------------------------------------------------------- rules of an exercise

EXERCISE = """\
format = 1
kind = "kernel"
slug = "tiny"
title = "Tiny"
summary = "One."
entry = "run"
hints = ["a", "b", "c"]
starter = "interpret KT201"

{inputs}
[[output]]
name = "out"
shape = ["m", 128]
dtype = "float32"

[[case]]
name = "one"
sizes = {{ m = {rows}, k = 16 }}
hazard = true

[rules]
{rules}
"""
INPUT = '[[input]]\nname = "{}"\nshape = {}\ndtype = "float32"\n'
WRAPPER = """
import jax
from jax.experimental import pallas as pl


def run({names}):
    shape = jax.ShapeDtypeStruct(({rows}, 128), "float32")
    return pl.pallas_call(kernel, out_shape=shape)({names})
"""
COPY = """
import jax


def run(x):
    return {call}
"""
REFERENCE = """
import jax
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def run(x):
    spec = pl.BlockSpec((128, 128), lambda i: (i, 0))
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return pl.pallas_call(kernel, grid=(x.shape[0] // 128,), in_specs=[spec], out_specs=spec, out_shape=shape)(x)
"""
ORACLE = """
import numpy as np


def make_inputs(rng, case):
    return {spec.name: rng.standard_normal(spec.shape).astype(np.float32) for spec in case.inputs}


def expected(inputs, case):
    return np.zeros(case.outputs[0].shape, np.float32)
"""
SET = """\
format = 1
id = "t"
title = "T"
jax = ">=0.12,<0.13"
chapters = ["01_a"]
chips = ["v5e"]
"""


def write_set(root: Path, rules: str, *, names: dict[str, str], rows: int = 8, oracle: str = ORACLE) -> ExerciseSet:
    """A set of one exercise with these rules; its inputs are float32, with these shapes."""
    inputs = "\n".join(INPUT.format(name, shape) for name, shape in names.items())
    files = {
        "exercises/set.toml": SET,
        "exercises/01_a/01_tiny/exercise.toml": EXERCISE.format(inputs=inputs, rules=rules, rows=rows),
        "exercises/01_a/01_tiny/lesson.md": "# Tiny\n",
        "exercises/01_a/01_tiny/starter.py": "def run(x):\n    return x\n",
        "exercises/01_a/01_tiny/oracle.py": oracle,
        "solutions/01_a/01_tiny/reference.py": REFERENCE,
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return load_set(find_set(str(root)))


@pytest.mark.parametrize("code", [c for c in codes() if needs_rules(c) is not None])
def test_example_breaks_its_rules(code: str, warm: Warm, tmp_path: Path) -> None:
    rules, text = needs_rules(code), page(code).example
    assert rules is not None
    rows = 8
    if code == "KT304":
        names = {"a": '["m", "k"]', "b": '["k", 128]'}
    else:
        names = {"x": '["m", 128]'}
    if "def copy(" in text:
        rows = 256
        attempt = text + "\n\ndef kernel(x_ref, o_ref):\n    o_ref[...] = x_ref[...]\n" + COPY.format(call="copy(x)")
    else:
        attempt = text + WRAPPER.format(names=", ".join(names), rows=rows)
    exercises = write_set(tmp_path, rules, names=names, rows=rows)
    verdict = warm.check(exercises.exercise("tiny"), attempt.encode(), "tiny.py", target="structure")
    assert code in said(verdict)


def test_a_rule_of_the_oracle(warm: Warm, tmp_path: Path) -> None:
    oracle = ORACLE + (
        "\n\ndef check(facts):\n    from tutor.findings import finding\n"
        "    return [finding('KT314', 'Two kernels would do.', case=facts.case)]\n"
    )
    exercises = write_set(tmp_path, "kernels = 1", names={"x": '["m", 128]'}, oracle=oracle)
    verdict = warm.check(exercises.exercise("tiny"), REFERENCE.encode(), "tiny.py", target="structure")
    assert "KT314" in said(verdict)


# ---------------------------------------------------------------- pages and codes


def test_only_these_have_no_program() -> None:
    assert {code for code in codes() if not is_program(code)} == set(NO_PROGRAM)


def test_no_code_without_a_page_and_no_page_without_a_use() -> None:
    used = {
        code for path in SOURCES.rglob("*.py") for code in re.findall(r'"(KT\d{3})"', path.read_text(encoding="utf-8"))
    }
    assert used <= set(codes())
    assert set(codes()) - used == set(RESERVED) - used
    assert set(RESERVED).isdisjoint(used)


@pytest.mark.parametrize("code", codes())
def test_explain_shows_the_page(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", code]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for text in (page(code).title, page(code).meaning, page(code).cause, page(code).fix):
        assert " ".join(text.split()) in shown
