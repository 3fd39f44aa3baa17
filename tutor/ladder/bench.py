"""`bench`: the references of a set, and the same functions in plain JAX beside them, by the compiler's estimate."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence

import msgspec

from tutor.ladder.compiler import need_libtpu
from tutor.ladder.measured import Here
from tutor.ladder.runs import Failed, Runs
from tutor.ladder.subject import Subject, subject
from tutor.ladder.timed_case import Lowered, integer_values, lowered
from tutor.ladder.work import reached, work_of
from tutor.protocol import Bench, Benched, CaseSpec, Schedule
from tutor.roof import roof
from tutor.sets.exercise import Exercise
from tutor.wire import Attempt, Broken, CompileJob

type Outcome = tuple[Schedule | None, str | None]
"""An estimate, or why there is none."""


async def bench(
    runs_of: Callable[[Subject], Runs],
    set_id: str,
    exercises: Sequence[Exercise],
    chips: tuple[str, ...],
    here: Here | None = None,
) -> AsyncGenerator[Bench]:
    """The table so far, after every exercise. Closing the iterator stops what runs."""
    began = time.monotonic()
    table = Bench(set=set_id, chips=list(chips), rows=[])
    for exercise in exercises:
        assert exercise.reference is not None
        reference = exercise.reference
        runs = runs_of(subject(exercise, reference.read_bytes(), str(reference), chips=chips))
        await need_libtpu(runs.compiler)
        rows = [*table.rows, *await bench_exercise(runs, exercise, here)]
        table = msgspec.structs.replace(table, rows=rows, seconds=time.monotonic() - began)
        yield table
    yield msgspec.structs.replace(table, complete=True)


async def bench_exercise(runs: Runs, exercise: Exercise, here: Here | None = None) -> list[Benched]:
    """The reference and `xla.py` of one exercise on every chip of `runs`, called as its timing case says."""
    case, chips = runs.subject.time_case, runs.subject.chips
    values = await integer_values(runs, case)
    programs = [runs.subject.attempt]
    if exercise.xla is not None:
        programs.append(Attempt(exercise.xla.read_bytes(), str(exercise.xla), exercise.entry))
    made = await asyncio.gather(*(lowered(runs, program, case, values) for program in programs))
    found = [await estimates(runs, one, program, values) for one, program in zip(made, programs, strict=True)]
    if exercise.xla is None:
        found.append(dict.fromkeys(chips, (None, "the exercise has no xla.py")))
    rows = [
        Benched(exercise.slug, chip, case.name, mine, other, why, why_not, _floor(made[0], case, chip))
        for chip in chips
        for (mine, why), (other, why_not) in [(found[0][chip], found[1][chip])]
    ]
    return rows if here is None or exercise.xla is None else await _timed(runs, programs[1], rows, here)


def _floor(reference: Lowered, case: CaseSpec, chip: str) -> float | None:
    """What the function takes at the very least on a chip, from the reference's facts."""
    return reached(work_of(reference.facts, case), roof(chip), 1.0).least_us


async def _timed(runs: Runs, xla: Attempt, rows: list[Benched], here: Here) -> list[Benched]:
    """The rows with what this machine's TPU takes for both programs, in the row of its chip."""
    chip = here.row(runs.subject.chips)
    if chip is None:
        return [msgspec.structs.replace(row, measured_reason=here.why_not(runs.subject.chips)) for row in rows]
    found = await here.measure(runs.about(msgspec.structs.replace(runs.subject, attempt=xla)))
    return [
        msgspec.structs.replace(
            row, reference_us=found.reference_us, xla_us=found.attempt_us, measured_reason=found.reason
        )
        if row.chip == chip
        else row
        for row in rows
    ]


async def estimates(runs: Runs, made: Lowered, program: Attempt, values: bytes) -> dict[str, Outcome]:
    """The estimate of a program that was lowered, for every chip that was asked for."""
    found: dict[str, Outcome] = {}
    for chip in runs.subject.chips:
        if chip not in made.artifacts:
            why = f"{made.findings[0].code} {made.findings[0].title}" if made.findings else "it could not be lowered"
            found[chip] = (None, why)
            continue
        case = runs.subject.time_case.name
        job = CompileJob(made.artifacts[chip], case, chip, program.path, made.kernels, estimate=True, values=values)
        answer = await runs.compiler.compile(job)
        if isinstance(answer, Broken):
            raise Failed(answer)
        why_not = next((one.message for one in answer.findings), None) or answer.unavailable
        found[chip] = (answer.compilation.schedule, None if answer.compilation.schedule else why_not)
    return found
