"""A predict exercise from end to end: what is asked, what is said, and that nothing says an answer too early."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.warm import Warm
from tutor.ladder.check import Ladder
from tutor.ladder.events import CheckFinished, KernelsTraced
from tutor.ladder.predict import Solved, solve
from tutor.ladder.predict_proof import prove_answers
from tutor.ladder.proof import Proved
from tutor.ladder.worker import Worker
from tutor.protocol import Verdict
from tutor.sets import ExerciseSet, load_set
from tutor.wire import Body, Ended, Hello, Job

SET = 'format = 1\nid = "small"\ntitle = "Small"\nchapters = ["01_refs"]\n'
EXERCISE = """\
format = 1
kind = "predict"
slug = "guess"
title = "Guess"

[[question]]
id = "loads"
kernel = "twice"
ask = "How many loads of x_ref?"
quantity = "loads.x_ref"

[[question]]
id = "early"
kernel = "early"
ask = "Does early race?"
quantity = "races"

[[question]]
id = "late"
kernel = "late"
ask = "Does late race?"
quantity = "races"
"""
KERNELS = """\
import jax
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def twice_kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] + x_ref[...]


def twice(x):
    return pl.pallas_call(twice_kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def copying(body, x):
    return pl.pallas_call(
        body,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.VMEM(x.shape, x.dtype), pltpu.SemaphoreType.DMA],
    )(x)


def early(x):
    def kernel(x_ref, o_ref, buffer, sem):
        copy = pltpu.make_async_copy(x_ref, buffer, sem)
        copy.start()
        o_ref[...] = buffer[...]
        copy.wait()

    return copying(kernel, x)


def late(x):
    def kernel(x_ref, o_ref, buffer, sem):
        copy = pltpu.make_async_copy(x_ref, buffer, sem)
        copy.start()
        copy.wait()
        o_ref[...] = buffer[...]

    return copying(kernel, x)


def make_args():
    return (np.ones((8, 128), np.float32),)
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    home = tmp_path / "exercises/01_refs/01_guess"
    home.mkdir(parents=True)
    (tmp_path / "exercises/set.toml").write_text(SET)
    (home / "exercise.toml").write_text(EXERCISE)
    (home / "kernels.py").write_text(KERNELS)
    (home / "lesson.md").write_text("# Guess\n")
    (home / "starter.py").write_text("loads = None\nearly = None\nlate = None\n")
    return tmp_path


def judged(warm: Warm, loaded: ExerciseSet, source: str) -> tuple[Verdict, list[KernelsTraced]]:
    async def work(ladder: Ladder) -> tuple[Verdict, list[KernelsTraced]]:
        verdict, traced = None, []
        async for event in ladder.check(loaded.exercise("guess"), source.encode(), "guess.py"):
            if isinstance(event, CheckFinished):
                verdict = event.verdict
            elif isinstance(event, KernelsTraced):
                traced.append(event)
        assert verdict is not None
        return verdict, traced

    return warm.do(work)


def test_an_exercise_from_end_to_end(small: Path, warm: Warm) -> None:
    loaded = load_set(small)

    verdict, traced = judged(warm, loaded, "loads = 5\nearly = 1\n")
    assert [(stage.name, stage.status) for stage in verdict.stages] == [("load", "passed"), ("structure", "failed")]
    findings = verdict.stages[1].findings
    assert [(found.code, found.line) for found in findings] == [("KT346", 1), ("KT346", 2), ("KT346", None)]
    assert "`loads`" in findings[0].message and "You wrote 5" in findings[0].message
    assert "True or False" in findings[1].message
    assert "not answered" in findings[2].message
    assert "2" not in findings[0].message + (findings[0].hint or "")
    # The jaxpr is there to look at. The table, which would tell, is not, and no line of it is one of the answers' file.
    assert verdict.kernels == [] and [event.kernels for event in traced] == [[]]
    assert "x_ref[...]" in traced[0].jaxpr.text
    assert all(line.source_line is None for line in traced[0].jaxpr.lines)
    assert not verdict.passed

    verdict, traced = judged(warm, loaded, "loads = 2\nearly = True\nlate = False\n")
    assert verdict.passed and verdict.score == 1
    assert [kernel.loads for kernel in verdict.kernels] == [2, 1, 1]
    assert len(traced[-1].kernels) == 3

    verdict, traced = judged(warm, loaded, "loads = 1 + 1\n")
    assert [(stage.name, stage.status) for stage in verdict.stages] == [("load", "failed"), ("structure", "skipped")]
    assert traced and not verdict.passed

    async def prove(ladder: Ladder) -> list[Proved]:
        return [one async for one in prove_answers(ladder, loaded.exercise("guess"))]

    proved = warm.do(prove)
    assert len(proved) == 4 + 2 + 1 + 1
    assert [one.problem for one in proved if one.problem] == []


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("def early(x)", "def other(x)", "early"),
        ("def make_args()", "def make()", "make_args"),
        ("import numpy as np", "import numpy as np\nraise RuntimeError('no')", "kernels.py"),
        ("x_ref[...] + x_ref[...]", "x_ref + x_ref[...]", "kernels.py"),
        ("twice_kernel(x_ref, o_ref)", "twice_kernel(z_ref, o_ref, x_ref=None)", "kernels.py"),
    ],
)
def test_broken_kernels_are_never_the_learners_fault(small: Path, warm: Warm, old: str, new: str, word: str) -> None:
    path = small / "exercises/01_refs/01_guess/kernels.py"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    verdict, _ = judged(warm, load_set(small), "loads = 2\nearly = True\nlate = False\n")
    assert verdict.stages[1].status == "error"
    assert verdict.stages[1].findings[0].code == "KT904"
    assert word in verdict.stages[1].findings[0].message
    assert not verdict.passed


def test_the_lesson_ends_with_kernels_and_questions(small: Path) -> None:
    exercise = load_set(small).exercise("guess")
    assert "def twice_kernel" in exercise.lesson
    assert "- `loads`: How many loads of x_ref?" in exercise.lesson
    assert "```python" in exercise.lesson


def test_kernels_have_line_numbers_where_a_question_is_about_a_line(small: Path, warm: Warm) -> None:
    path = small / "exercises/01_refs/01_guess/exercise.toml"
    path.write_text(path.read_text().replace("loads.x_ref", "line.load"))
    exercise = load_set(small).exercise("guess")
    assert "\n   8      o_ref[...] = x_ref[...] + x_ref[...]" in exercise.lesson
    assert warm.do(lambda ladder: ladder.solve(exercise)).answers["loads"] == 8


def test_kernels_are_traced_once_and_again_when_something_of_them_changes(small: Path, warm: Warm) -> None:
    async def traced(ladder: Ladder) -> list[int]:
        """How many kernels were asked for, each time that the answers are wanted."""
        worker, seen = Counted(ladder.stage), []
        known: dict[str, Solved] = {}
        for old, new in (("", ""), ("", ""), ("x_ref[...] + x_ref[...]", "x_ref[...] + 1"), ("", "")):
            path.write_text(path.read_text().replace(old, new))
            await solve(worker, load_set(small).exercise("guess"), known)
            seen.append(worker.runs)
        return seen

    path = small / "exercises/01_refs/01_guess/kernels.py"
    first, second, changed, again = warm.do(traced)
    assert 0 < first == second < changed == again


class Counted(Worker):
    """A worker that counts what it is asked, and lets another one do it."""

    def __init__(self, worker: Worker) -> None:
        super().__init__("counted")
        self._worker, self.runs = worker, 0

    async def start(self) -> Hello:
        return await self._worker.start()

    async def run(self, job: Job) -> AsyncIterator[Body | Ended]:
        self.runs += 1
        async for answer in self._worker.run(job):
            yield answer
