"""Attempts that are made to get past the judge, and objects that are made to break it, through the whole ladder.

What belongs to one exercise stands in `solutions/**/wrong_*.py`; here is what any attempt could try."""

from __future__ import annotations

import pytest

from tests.warm import Warm, findings
from tutor.protocol import StageName, Verdict
from tutor.sets import ExerciseSet, find_set, load_set

HEAD = """\
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

"""

ROW_SUMS = (
    HEAD
    + """
def kernel(x_ref, o_ref):
    k = pl.program_id(1)
{top}
    @pl.when(k == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    o_ref[...] += {sum}


def row_sums(x, *, bm=64, bk=128):
    m, k = x.shape
{early}
    return pl.pallas_call(
        kernel,
        grid=(m // bm, k // bk),
        in_specs=[pl.BlockSpec((bm, bk), lambda i, k: (i, k))],
        out_specs=pl.BlockSpec((bm, 1), lambda i, k: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((m, 1), x.dtype),
    )(x)


{end}
"""
)
SUM = "jnp.sum(x_ref[...], axis=1, keepdims=True)"


def attempt(*, top: str = "", sum: str = SUM, early: str = "", end: str = "") -> str:
    return ROW_SUMS.format(top=top, sum=sum, early=early, end=end)


@pytest.fixture(scope="module")
def course() -> ExerciseSet:
    return load_set(find_set(None))


def judged(warm: Warm, course: ExerciseSet, text: str, target: StageName = "structure") -> Verdict:
    exercise = next(exercise for exercise in course.exercises if exercise.slug == "row_sums")
    return warm.check(exercise, text.encode("utf-8", "surrogatepass"), "attempt.py", target=target)


def codes(verdict: Verdict) -> dict[str, list[str]]:
    return {stage.name: [found.code for found in stage.findings] for stage in verdict.stages if stage.findings}


# ---------------------------------------------------------------- exceptions and objects that cannot be shown

UNREADABLE = """
class Unreadable(Exception):
    def __str__(self):
        raise {what}

    __repr__ = __str__
"""


@pytest.mark.parametrize(
    "end",
    [
        UNREADABLE.format(what="RuntimeError('no')") + "raise Unreadable",
        UNREADABLE.format(what="KeyboardInterrupt") + "raise Unreadable",
        "raise ValueError('\\ud800 and \\x1b[31m[/red]<b>')",
        "raise ImportError('\\ud800', name='\\ud800', path=3)",
        "raise SyntaxError('m', ('f\\ud800', 'x', object(), b'y'))",
        "error = SyntaxError('m'); error.lineno = 'abc'; error.text = 3; error.filename = None\nraise error",
        "raise type('\\ud800\\x1b', (Exception,), {})('m')",
        "a, b = ValueError('a'), ValueError('b')\na.__cause__, b.__cause__ = b, a\nraise a",
        "raise ValueError('x' * 10_000_000)",
    ],
)
def test_whatever_is_raised_at_import_is_the_attempts_own(end: str, warm: Warm, course: ExerciseSet) -> None:
    assert codes(judged(warm, course, attempt(end=end), "load"))["load"] in (["KT103"], ["KT109"])


@pytest.mark.parametrize(
    "early", ["    raise Unreadable", "    raise ValueError('\\udfff')", "    raise SystemExit('\\ud800')"]
)
def test_whatever_is_raised_in_the_trace_is_the_attempts_own(early: str, warm: Warm, course: ExerciseSet) -> None:
    end = UNREADABLE.format(what="RuntimeError('no')")
    assert codes(judged(warm, course, attempt(early=early, end=end), "trace")) == {"trace": ["KT110"]}


def test_an_exception_of_a_callback_that_cannot_be_shown(warm: Warm, course: ExerciseSet) -> None:
    end = UNREADABLE.format(what="RuntimeError('no')") + "\n\ndef fail():\n    raise Unreadable\n"
    verdict = judged(warm, course, attempt(top="    jax.debug.callback(fail)", end=end), "hazards")
    assert [stage.status for stage in verdict.stages if stage.name == "hazards"] == ["failed"]


def test_an_expression_that_is_too_long_for_python(warm: Warm, course: ExerciseSet) -> None:
    text = attempt() + "\nx = " + " + ".join(["1"] * 60_000)
    assert codes(judged(warm, course, text, "load")) == {"load": ["KT101"]}


@pytest.mark.parametrize(
    "member", ["__signature__ = 3", "__module__ = property(lambda self: 1 / 0)", "__eq__ = None\n    __hash__ = None"]
)
def test_an_entry_may_be_an_object_that_answers_with_anything(member: str, warm: Warm, course: ExerciseSet) -> None:
    call = "    def __call__(self, x, *, bm=64, bk=128):\n        return inner(x, bm=bm, bk=bk)\n"
    end = f"class Entry:\n    {member}\n\n{call}\n\ninner, row_sums = row_sums, Entry()\n"
    assert codes(judged(warm, course, attempt(end=end), "trace")) == {}


FORGE = """
import os

for descriptor in range(3, 64):
    try:
        os.write(descriptor, {what})
    except OSError:
        pass
"""


@pytest.mark.parametrize("what", ["b'\\0\\0\\0\\5hello'", "b'\\0\\0\\0\\1\\xc1'"])
def test_a_forged_answer_is_the_attempts_doing_and_not_ours(what: str, warm: Warm, course: ExerciseSet) -> None:
    verdict = judged(warm, course, attempt(end=FORGE.format(what=what)), "load")
    assert [(stage.name, stage.status) for stage in verdict.stages] == [("load", "failed")]
    assert codes(verdict) == {"load": ["KT830"]}
    assert not judged(warm, course, attempt(), "load").stages[0].findings  # and the server goes on


# ---------------------------------------------------------------- one program for the rules, another one to be run


@pytest.mark.parametrize(
    ("word", "stage", "target"),
    [("cpu", "interpret", "interpret"), ("tpu", "structure", "structure"), ("on_wait", "hazards", "hazards")],
)
def test_a_run_that_is_given_another_program_says_so(
    word: str, stage: str, target: StageName, warm: Warm, course: ExerciseSet
) -> None:
    """It looks at the job that it is traced for: any stage but `trace` may get a program of its own."""
    end = """
import sys


def job():
    frame = sys._getframe()
    while frame is not None:
        if "job" in frame.f_locals:
            seen = frame.f_locals["job"]
            return f"{getattr(seen, 'platforms', '')} {getattr(seen, 'mode', '')}"
        frame = frame.f_back
    return ""


inner = row_sums


def row_sums(x, *, bm=64, bk=128):
    return inner(x, bm=bm, bk=bk) if "WORD" not in job() else jnp.sum(x, axis=1, keepdims=True)
""".replace("WORD", word)
    assert "KT392" in codes(judged(warm, course, attempt(end=end), target)).get(stage, [])


@pytest.mark.parametrize(
    "top",
    [
        "    jax.debug.print('k = {}', k)",
        "    jax.debug.callback(print, k)",
        "    _ = jax.nn.gelu(x_ref[...])",
        "    import functools; jax.debug.callback(functools.partial(print, object()), k)",
    ],
)
def test_a_program_is_the_same_in_every_process(top: str, warm: Warm, course: ExerciseSet) -> None:
    """What a jaxpr holds of Python's objects (callables, addresses) does not count."""
    total = "jnp.sum(jax.nn.relu(x_ref[...]) - jax.nn.relu(-x_ref[...]), axis=1, keepdims=True)"
    verdict = judged(warm, course, attempt(top=top, sum=total), "hazards")
    assert "KT392" not in {found.code for found in findings(verdict)}


def test_numbers_are_confirmed_for_every_case_where_interpret_cannot_run(warm: Warm, course: ExerciseSet) -> None:
    """Right for the shape that the simulator is given, wrong for the others, and random bits that nobody needs."""
    top = "    @pl.when(k < 0)\n    def _():\n        pltpu.prng_seed(3)\n"
    early = "    FACTOR[0] = 1 if x.shape == (192, 640) else 2"
    text = attempt(top=top, sum=f"FACTOR[0] * {SUM}", early=early, end="FACTOR = [1]")
    status = {stage.name: stage.status for stage in judged(warm, course, text, "interpret").stages}
    assert status["interpret"] == "failed"


# ---------------------------------------------------------------- false alarms


def test_a_vmapped_kernel_counts_its_own_axes(warm: Warm, course: ExerciseSet) -> None:
    text = (
        HEAD
        + """
def kernel(x_ref, o_ref):
    k = pl.program_id(0)

    @pl.when(k == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    o_ref[...] += jnp.sum(x_ref[...], axis=1, keepdims=True)


def row_sums(x, *, bm=64, bk=128):
    def of_block(rows):
        return pl.pallas_call(
            kernel,
            grid=(x.shape[1] // bk,),
            in_specs=[pl.BlockSpec((bm, bk), lambda k: (0, k))],
            out_specs=pl.BlockSpec((bm, 1), lambda k: (0, 0)),
            out_shape=jax.ShapeDtypeStruct((bm, 1), x.dtype),
        )(rows)

    return jax.vmap(of_block)(x.reshape(-1, bm, x.shape[1])).reshape(-1, 1)
"""
    )
    assert codes(judged(warm, course, text, "hazards")) == {}
