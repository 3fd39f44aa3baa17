"""`set check` of a predict exercise: the computed answers pass; no answers, zeros, and each answer off by one fail."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from tutor.ladder.check import Ladder
from tutor.ladder.predict import BrokenKernels
from tutor.ladder.proof import Program, Proved, judge
from tutor.ladder.quantities import Value
from tutor.protocol import Verdict
from tutor.sets.exercise import Exercise

_SPACES = ("vmem", "smem", "any", "hbm", "semaphore")


async def prove_answers(ladder: Ladder, exercise: Exercise) -> AsyncIterator[Proved]:
    """Judge every file of answers that decides. `BrokenKernels` if a question has no answer."""
    answers = (await ladder.solve(exercise)).answers
    yield await _prove(ladder, exercise, "the computed answers", _written(answers), passes=True)
    yield await _prove(ladder, exercise, "starter.py", exercise.starter)
    yield await _prove(ladder, exercise, "an empty file", "")
    yield await _prove(ladder, exercise, "all zeros", _written(dict.fromkeys(answers, 0)))
    for name, value in answers.items():
        for other in near(value):
            file = _written({**answers, name: other})
            yield await _prove(ladder, exercise, f"{name} = {other!r}", file, blamed=name)


def near(value: Value) -> Iterator[Value]:
    """Answers that are just not right: off by one in each place, the other truth, another memory space."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value - 1)
    elif isinstance(value, str):
        yield next(space for space in _SPACES if space != value)
    else:
        for i, number in enumerate(value):
            yield (*value[:i], number + 1, *value[i + 1 :])


def _written(answers: dict[str, Value] | dict[str, int]) -> str:
    return "".join(f"{name} = {value!r}\n" for name, value in answers.items())


async def _prove(
    ladder: Ladder, exercise: Exercise, name: str, source: str, *, passes: bool = False, blamed: str | None = None
) -> Proved:
    verdict = await judge(ladder, exercise, source.encode(), "answers.py", None)
    return Proved(Program("answers", name), _problem(verdict, passes, blamed), verdict)


def _problem(verdict: Verdict, passes: bool, blamed: str | None) -> str | None:
    broken = [stage for stage in verdict.stages if stage.status == "error"]
    if broken:
        return f"the tutor itself failed: {broken[0].reason}"
    if verdict.passed != passes:
        return "must pass, but fails" if passes else "must fail, but passes"
    if not passes and verdict.kernels:
        return "shows the access table before a pass"
    findings = [found for stage in verdict.stages for found in stage.findings]
    if blamed is not None and (len(findings) != 1 or f"`{blamed}`" not in findings[0].message):
        return f"must give one finding about {blamed}, but gives {len(findings)}"
    return None


__all__ = ["BrokenKernels", "near", "prove_answers"]
