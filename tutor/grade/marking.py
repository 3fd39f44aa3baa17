"""From what a student handed in, and what was judged of it, to records: points, lateness, what was decided by hand."""

from __future__ import annotations

import datetime
from collections.abc import Mapping

from tutor.grade.judging import Outcome
from tutor.grade.names import readable
from tutor.grade.overrides import Overrides
from tutor.grade.points import MAX_SCORE, Judged, judge, not_asked
from tutor.grade.reach import reached
from tutor.grade.records import Flag, GradeRecord
from tutor.grade.submissions import Received
from tutor.protocol import Tier
from tutor.sets.exercise import Exercise
from tutor.sets.late import Lateness, due_date, late_all
from tutor.sets.loading import ExerciseSet
from tutor.sets.manifest import Late


def records_of(
    exercises: ExerciseSet,
    tier: Tier,
    student: str,
    received: Received,
    outcomes: Mapping[str, Outcome],
    overrides: Overrides,
) -> list[GradeRecord]:
    """One record for every exercise, in the order of `outcomes` (by slug)."""
    worth = {slug: judged_of(outcome, exercises.exercise(slug), received) for slug, outcome in outcomes.items()}
    earned = [slug for slug, judged in worth.items() if judged.share > 0]
    handed_in = [slug for slug in outcomes if received.attempts[slug].is_there]
    lateness = lateness_of(exercises.manifest.late, handed_in, earned, received.submitted_at)
    records = []
    for slug, outcome in outcomes.items():
        judged, late_by = worth[slug], lateness.get(slug)
        factor = late_by.factor if late_by else 1.0
        flags = [*not_asked(outcome.verdict), *received.flags, *received.attempts[slug].flags, *judged.flags]
        flags += _reaches(received.attempts[slug].source) + _not_tried_out(outcome)
        flags += _on_time(exercises.manifest.late, slug, late_by) if slug in lateness else []
        record = GradeRecord(
            student=student,
            exercise=slug,
            status=judged.status,
            score=round(MAX_SCORE * judged.share * factor, 4),
            max_score=MAX_SCORE,
            verdict=outcome.verdict,
            tier=tier,
            set=exercises.id,
            set_sha256=exercises.public_sha256,
            flags=flags,
            submitted_at=received.submitted_at.isoformat() if received.submitted_at else None,
            late_seconds=late_by.late_seconds if late_by else None,
        )
        records.append(overrides.apply(record, worth=factor))
    return records


def judged_of(outcome: Outcome, exercise: Exercise, received: Received) -> Judged:
    """Status and points of one exercise, before lateness."""
    if outcome.trouble is not None:
        code, message = "KT833", "It could not be judged, through no fault of the attempt. It was tried twice."
        if outcome.of_the_set:
            code = "KT904"
            message = "It could not be judged: the exercise is broken. Nothing is wrong with the attempt."
        return Judged("infra_error", 0.0, [Flag(code, message, readable(outcome.trouble)[:2000])])
    if outcome.verdict is None:
        return Judged("invalid", 0.0, [])
    judged = judge(outcome.verdict, outcome.reference)
    if judged.status != "passed" and received.attempts[exercise.slug].source == exercise.starter.encode():
        return Judged("failed", 0.0, [*judged.flags, Flag("KT840", "The file is the starter, unchanged.")])
    return judged


def lateness_of(
    policy: Late, slugs: list[str], earned: list[str], submitted_at: datetime.datetime | None
) -> dict[str, Lateness | None]:
    """The lateness of every exercise that one student handed in; late days are only spent on what earned anything."""
    if submitted_at is None:
        return dict.fromkeys(slugs)
    return dict(late_all(policy, dict.fromkeys(slugs, submitted_at), earned))


def _reaches(source: bytes | None) -> list[Flag]:
    names = reached(source) if source is not None else []
    said = "The file reaches for what no exercise needs. A remark, for whoever reads it."
    return [Flag("KT871", said, readable(", ".join(names))[:500])] if names else []


def _not_tried_out(outcome: Outcome) -> list[Flag]:
    """A program for TPU that the judge could not run may be another one than that which `interpret` ran."""
    stages = outcome.verdict.stages if outcome.verdict else []
    said = [found for stage in stages for found in stage.findings if found.code == "KT394"]
    return [Flag("KT394", "The program for TPU was not tried out. A remark.", said[0].message)] if said else []


def _on_time(policy: Late, slug: str, lateness: Lateness | None) -> list[Flag]:
    if lateness is None and due_date(policy, slug):
        return [Flag("KT809", "The time of the submission is not known: counted as in time.")]
    if lateness is not None and lateness.late_seconds:
        return [Flag("KT839", f"Late: {lateness.reason}")]
    return []
