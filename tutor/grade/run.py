"""One run over a class: read a submission, judge its attempts, make its records, settle them with what is there."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import AsyncIterator
from dataclasses import dataclass

from tutor.grade.changes import Change, settle
from tutor.grade.journal import Journal
from tutor.grade.judging import Asked, Judging, Outcome
from tutor.grade.names import Slugs
from tutor.grade.overrides import Overrides
from tutor.grade.points import MAX_SCORE, Judged, judge, not_asked
from tutor.grade.records import Flag, GradeRecord
from tutor.grade.submissions import Attempt, Class, Received, Submission, read
from tutor.sets.exercise import Exercise
from tutor.sets.late import Lateness, due_date, late, late_all
from tutor.sets.loading import ExerciseSet
from tutor.sets.manifest import Late

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
    def slugs(self) -> Slugs:
        """The exercises by file name."""
        return Slugs(self.exercises.slugs)

    @property
    def order(self) -> list[tuple[str, str]]:
        """Whose records there will be, in order."""
        return [(who.student, slug) for who in self.students.submissions for slug in self.exercises.slugs]


async def grade(run: Run, judging: Judging, journal: Journal) -> AsyncIterator[list[Change]]:
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
        received = await asyncio.to_thread(read, submission, run.slugs, rostered=run.rostered)
    except Exception as error:  # a submission that nobody foresaw must not stop the others
        trouble = f"reading the submission: {type(error).__name__}: {error}"
        received = Received({slug: Attempt(None, []) for slug in run.exercises.slugs}, [], None)
    attempts = [(exercise, received.attempts[exercise.slug]) for exercise in run.exercises.exercises]
    outcomes = await asyncio.gather(*(_outcome(judging, exercise, attempt, trouble) for exercise, attempt in attempts))
    changes = []
    for record in _records(run, submission.student, received, dict(zip(run.exercises.slugs, outcomes, strict=True))):
        by_hand = run.overrides.is_set(record.key)
        changes.append(settle(record, journal.get(record.key), by_hand=by_hand, accept_lower=run.accept_lower))
    return changes


async def _outcome(judging: Judging, exercise: Exercise, attempt: Attempt, trouble: str | None) -> Outcome:
    if trouble is not None:
        return Outcome(None, trouble)
    if attempt.source is None:
        return Outcome(None)
    return await judging.judge(exercise, attempt.source)


def _records(run: Run, student: str, received: Received, outcomes: dict[str, Outcome]) -> list[GradeRecord]:
    worth = {slug: _judged(outcome, run.exercises.exercise(slug), received) for slug, outcome in outcomes.items()}
    earned = [slug for slug, judged in worth.items() if judged.share > 0]
    lateness = lateness_of(run.exercises.manifest.late, list(outcomes), earned, received.submitted_at)
    return [
        run.overrides.apply(
            _record(run, student, slug, received, outcome, worth[slug], lateness[slug]),
            worth=lateness[slug].factor if lateness[slug] else 1.0,  # type: ignore[union-attr]
        )
        for slug, outcome in outcomes.items()
    ]


def _record(
    run: Run, student: str, slug: str, received: Received, outcome: Outcome, judged: Judged, lateness: Lateness | None
) -> GradeRecord:
    factor = lateness.factor if lateness else 1.0
    flags = [*not_asked(outcome.verdict), *received.flags, *received.attempts[slug].flags, *judged.flags]
    if lateness and lateness.late_seconds:
        flags.append(Flag("KT839", f"Late: {lateness.reason}"))
    elif lateness is None and due_date(run.exercises.manifest.late, slug):
        flags.append(Flag("KT809", "The time of the submission is not known: counted as in time."))
    when = received.submitted_at
    return GradeRecord(
        student=student,
        exercise=slug,
        status=judged.status,
        score=round(MAX_SCORE * judged.share * factor, 4),
        max_score=MAX_SCORE,
        verdict=outcome.verdict,
        tier=run.asked.tier,
        set_sha256=run.exercises.public_sha256,
        flags=flags,
        submitted_at=when.isoformat() if when else None,
        late_seconds=lateness.late_seconds if lateness else None,
    )


def _judged(outcome: Outcome, exercise: Exercise, received: Received) -> Judged:
    if outcome.trouble is not None:
        message = "It could not be judged, through no fault of the attempt. It was tried twice."
        return Judged("infra_error", 0.0, [Flag("KT833", message, outcome.trouble)])
    if outcome.verdict is None:
        return Judged("invalid", 0.0, [])
    judged = judge(outcome.verdict)
    if judged.status != "passed" and received.attempts[exercise.slug].source == exercise.starter.encode():
        return Judged("failed", 0.0, [*judged.flags, Flag("KT840", "The file is the starter, unchanged.")])
    return judged


def lateness_of(
    policy: Late, slugs: list[str], earned: list[str], submitted_at: datetime.datetime | None
) -> dict[str, Lateness | None]:
    """The lateness of every exercise of one student; late days are only spent on what earned anything."""
    if submitted_at is None:
        return dict.fromkeys(slugs)
    banked = late_all(policy, dict.fromkeys(earned, submitted_at))
    return {slug: banked.get(slug) or late(policy, slug, submitted_at) for slug in slugs}
