"""`set check`: an exercise proves itself. Its reference and right answers pass, its starter fails as it says, and
every wrong answer is caught by the stage and the code that it names."""

from __future__ import annotations

import contextlib
import math
from collections.abc import AsyncGenerator, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from tutor.ladder.check import Ladder
from tutor.ladder.events import CheckFinished
from tutor.ladder.in_order import in_order
from tutor.ladder.proof_cache import Proofs, key
from tutor.protocol import PARENTS, STAGES, Finding, Record, StageName, Verdict
from tutor.sets.exercise import Exercise

ProgramKind = Literal["reference", "starter", "right", "wrong", "zero", "answers"]
MARGIN = 1.5
BROKEN = "KT904"
_STATUS = {"passed": "passes", "skipped": "was skipped", "unavailable": "cannot be run here", "error": "had an error"}


class Program(Record, frozen=True):
    """One program of an exercise and what must come of it. `stage` and `code` only where it must fail."""

    kind: ProgramKind
    path: str
    stage: StageName | None = None
    code: str | None = None
    only: bool = False

    @property
    def name(self) -> str:
        return Path(self.path).name


class Proved(Record, frozen=True):
    """What came of one program. `problem` is None if it is as it must be; `kept`: an earlier run proved it."""

    program: Program
    problem: str | None
    verdict: Verdict
    kept: bool = False


class Margins(Record, frozen=True):
    """How far right and wrong answers are from the bound of `interpret`: both at least `MARGIN`.

    `right`: bound / worst right answer. `wrong`: nearest wrong answer that `interpret` must catch / bound. None where
    there is none to measure."""

    right: float | None
    wrong: float | None


def programs(exercise: Exercise) -> list[Program]:
    """Every program that the exercise comes with, in the order in which they are proved."""
    found: list[Program] = []
    if exercise.reference is not None:
        found.append(Program("reference", str(exercise.reference)))
    starter = exercise.starter_expectation
    if starter is not None:
        found.append(Program("starter", str(exercise.folder / "starter.py"), starter.stage, starter.code))
    found += [Program("right", str(path)) for path in exercise.rights]
    found += [Program("wrong", str(w.path), w.stage, w.code, w.only) for w in exercise.wrongs]
    return found


def prove(ladder: Ladder, exercise: Exercise, proofs: Proofs | None = None) -> AsyncGenerator[Proved]:
    """Run every program on public and hidden cases, two at a time, in order. What is in `proofs` is not run again."""
    return in_order([partial(_prove, ladder, exercise, program, proofs) for program in programs(exercise)])


async def _prove(ladder: Ladder, exercise: Exercise, program: Program, proofs: Proofs | None) -> Proved:
    source = Path(program.path).read_bytes()
    name = key(exercise, source, program.kind, program.stage, program.code, program.only)
    kept = proofs.find(name, Verdict) if proofs else None
    if kept is not None and problem(program, kept) is None:
        return Proved(program, None, kept, kept=True)
    verdict = await judge(ladder, exercise, source, program.path, stages_for(program))
    proved = Proved(program, problem(program, verdict), verdict)
    if proofs and proved.problem is None:
        proofs.keep(name, verdict)
    return proved


async def judge(
    ladder: Ladder, exercise: Exercise, source: bytes, path: str, stages: Sequence[StageName] | None
) -> Verdict:
    """The verdict on one program, on public and hidden cases; all stages where none are named."""
    verdict: Verdict | None = None
    async with contextlib.aclosing(ladder.check(exercise, source, path, only=stages, hidden=True)) as events:
        async for event in events:
            if isinstance(event, CheckFinished):
                verdict = event.verdict
    assert verdict is not None
    return verdict


def stages_for(program: Program) -> tuple[StageName, ...] | None:
    """The stages that decide about a program: for one that must fail, its stage and what must have passed before."""
    if program.stage is None:
        return None
    if program.only:
        return STAGES[: STAGES.index(program.stage) + 1]
    needed: set[StageName] = {program.stage}
    for stage in reversed(STAGES):
        if stage in needed:
            needed.update(PARENTS[stage])
    return tuple(stage for stage in STAGES if stage in needed)


def problem(program: Program, verdict: Verdict) -> str | None:
    """Why a verdict is not what the program promises; None if it is."""
    if program.stage is None:
        return None if verdict.passed else f"must pass, but {_what_failed(verdict)}"
    if verdict.passed:
        return f"must fail at {program.stage} with {program.code}, but passes"
    stage = next((stage for stage in verdict.stages if stage.name == program.stage), None)
    if stage is None or stage.status != "failed":
        status = stage.status if stage else "unavailable"
        other = f" ({_what_failed(verdict)})" if status == "skipped" else ""
        return f"must fail at {program.stage} with {program.code}, but that stage {_STATUS[status]}{other}"
    codes = sorted({found.code for found in stage.findings if found.severity == "error"})
    if program.code not in codes:
        return f"must fail at {program.stage} with {program.code}, but it says {', '.join(codes) or 'no code'}"
    if program.only:
        before = STAGES[: STAGES.index(program.stage)]
        others = [s.name for s in verdict.stages if s.name in before and s.status != "passed"]
        if others:
            return f"only {program.stage} must fail, but so does {others[0]}"
    return None


def first_error(verdict: Verdict) -> tuple[StageName, Finding] | None:
    """The first finding that is an error, and the stage that says it."""
    return next(((s.name, found) for s in verdict.stages for found in s.findings if found.severity == "error"), None)


def broken_exercise(verdict: Verdict) -> str | None:
    """What is wrong with the exercise itself, which no program can help; None if a stage did not find that."""
    found = [f for stage in verdict.stages if stage.status == "error" for f in stage.findings if f.code == BROKEN]
    return found[0].message if found else None


def margins(proved: list[Proved], rel_l2_bound: float) -> Margins:
    """The two margins of relative L2 over all programs of one exercise with float outputs."""
    rights = [_worst(p.verdict) for p in proved if p.program.kind in ("reference", "right")]
    wrongs = [
        _worst(p.verdict) for p in proved if p.program.kind in ("wrong", "starter") and p.program.stage == "interpret"
    ]
    worst_right = max((e for e in rights if e is not None), default=None)
    nearest_wrong = min((e for e in wrongs if e is not None and math.isfinite(e)), default=None)  # NaN is far enough
    return Margins(
        right=None if not worst_right else rel_l2_bound / worst_right,
        wrong=None if nearest_wrong is None else nearest_wrong / rel_l2_bound,
    )


def default_bound(exercise: Exercise) -> float:
    """The bound of relative L2 for the exercise's first output (FORMATS 1)."""
    if exercise.tolerance.rel_l2 is not None:
        return exercise.tolerance.rel_l2
    outputs = exercise.cases()[0].outputs
    return 2.0**-8 if outputs and outputs[0].dtype == "bfloat16" else 1e-5


def _worst(verdict: Verdict) -> float | None:
    """The largest relative L2 error of `interpret`: infinite where a case failed by NaN, None if none was compared."""
    cases = [case for stage in verdict.stages if stage.name == "interpret" for case in stage.cases]
    errors = [
        case.error.relative_l2 if case.error.relative_l2 is not None else math.inf
        for case in cases
        if case.error is not None and (case.error.relative_l2 is not None or case.status == "failed")
    ]
    return max(errors, default=None)


def _what_failed(verdict: Verdict) -> str:
    words = {"failed": "fails", "error": "could not be run"}
    said = [f"{stage.name} {words[stage.status]}" for stage in verdict.stages if stage.status in words]
    return " and ".join(said) or "nothing fails"
