"""One run over a class: read a submission, judge its attempts, make its records, settle them with what is there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from tutor.grade.changes import Change, settle
from tutor.grade.journal import Journal
from tutor.grade.judging import Asked, Judging, Outcome
from tutor.grade.marking import records_of
from tutor.grade.overrides import Overrides
from tutor.grade.submissions import Attempt, Class, Received, Submission, read
from tutor.sets.exercise import Exercise
from tutor.sets.loading import ExerciseSet

AHEAD = 4
"""Students in hand for each check that may run: identical attempts wait for one verdict, and others go on meanwhile."""


@dataclass(frozen=True)
class Run:
    """What is graded, and how."""

    exercises: ExerciseSet
    students: Class
    asked: Asked
    overrides: Overrides
    jobs: int
    rostered: bool = False
    accept_lower: bool = False

    @property
    def order(self) -> list[tuple[str, str]]:
        """Whose records there will be, in order."""
        return [(who.student, slug) for who in self.students.submissions for slug in self.exercises.slugs]


async def grade(run: Run, judging: Judging, journal: Journal) -> AsyncGenerator[list[Change]]:
    """What becomes of every student's records, student by student as they are done. Nothing is written here."""
    working: set[asyncio.Task[list[Change]]] = set()
    try:
        for submission in run.students.submissions:
            working.add(asyncio.create_task(_student(run, judging, journal, submission)))
            if len(working) >= AHEAD * run.jobs:
                done, working = await asyncio.wait(working, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    yield task.result()
        while working:
            done, working = await asyncio.wait(working, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                yield task.result()
    finally:
        for task in working:
            task.cancel()
        await asyncio.gather(*working, return_exceptions=True)


async def _student(run: Run, judging: Judging, journal: Journal, submission: Submission) -> list[Change]:
    trouble: str | None = None
    try:
        received = await asyncio.to_thread(read, submission, run.exercises, rostered=run.rostered)
    except Exception as error:  # a submission that nobody foresaw must not stop the others
        trouble = f"reading the submission: {type(error).__name__}: {error}"
        received = Received({slug: Attempt(None, []) for slug in run.exercises.slugs}, [], None)
    attempts = [(exercise, received.attempts[exercise.slug]) for exercise in run.exercises.exercises]
    outcomes = await asyncio.gather(*(_outcome(judging, exercise, attempt, trouble) for exercise, attempt in attempts))
    changes = []
    by_slug = dict(zip(run.exercises.slugs, outcomes, strict=True))
    for record in records_of(run.exercises, run.asked.tier, submission.student, received, by_slug, run.overrides):
        by_hand = run.overrides.is_set(record.key)
        changes.append(settle(record, journal.get(record.key), by_hand=by_hand, accept_lower=run.accept_lower))
    return changes


async def _outcome(judging: Judging, exercise: Exercise, attempt: Attempt, trouble: str | None) -> Outcome:
    if trouble is not None:
        return Outcome(None, trouble)
    if attempt.source is None:
        return Outcome(None)
    return await judging.judge(exercise, attempt.source)
