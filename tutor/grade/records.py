"""What grading writes: the record of one student's one exercise (FORMATS 5), and what that student may see of it."""

from __future__ import annotations

from typing import Literal

import msgspec

from tutor.protocol import Record, StageName, StageResult, Tier, Verdict

RECORD_SCHEMA = "kerneltutor.record/1"
REPORT_SCHEMA = "kerneltutor.report/1"

GradeStatus = Literal[
    "passed", "partial", "failed", "invalid", "timeout", "unconfirmed", "infra_error", "suspicious"
]  # fmt: skip
"""What became of one exercise of one student.

- `passed`: every stage that was asked for passed or is unavailable here; the structure passed and `interpret` confirmed
  the numbers. A predict exercise: all answers are right.
- `partial`: not passed, but some points: at least one case of `interpret` was right (`points`).
- `failed`: judged, and no points.
- `invalid`: there is no file for this exercise, or none that can be read.
- `timeout`: a run did not come to an end in its time. What passed beside it counts as in `partial`.
- `unconfirmed`: nothing failed, but `interpret` cannot run this kernel, so nobody has confirmed its numbers. No points.
- `infra_error`: a fault of ours, twice. No points yet, and no word about the attempt: grade again.
- `suspicious`: the attempt's processes said things that do not go together (two witnesses, two programs, a forged
  answer, a program that is refused before it is run), or tried to get out of the jail. No points until somebody has
  looked and overrides it."""

STATUSES: tuple[GradeStatus, ...] = (
    "passed", "partial", "failed", "invalid", "timeout", "unconfirmed", "infra_error", "suspicious",
)  # fmt: skip


class Flag(Record, frozen=True):
    """One remark on a record. Students may read `message`; `evidence` is for the instructor alone."""

    code: str
    message: str
    evidence: str | None = None


class GradeRecord(Record, frozen=True, kw_only=True):
    """One line of `records.jsonl`. `verdict` is null where nothing was judged: no file, or a fault of ours.

    `score` is what counts, with lateness and overrides in it. `late_seconds` is null where no time is known."""

    schema: str = RECORD_SCHEMA
    student: str
    exercise: str
    status: GradeStatus
    score: float
    max_score: float
    verdict: Verdict | None
    tier: Tier
    set_sha256: str
    flags: list[Flag]
    submitted_at: str | None
    late_seconds: int | None

    @property
    def attempt_sha256(self) -> str | None:
        """The hash of the file that was judged."""
        return self.verdict.attempt.sha256 if self.verdict else None

    @property
    def key(self) -> tuple[str, str]:
        """Whose record this is."""
        return self.student, self.exercise


# ---------------------------------------------------------------- students/ID.json


class HiddenCases(Record, frozen=True):
    """What a student learns of a stage's hidden cases: how many there were, and how many of them failed."""

    stage: StageName
    failed: int
    total: int


class SeenExercise(Record, frozen=True, kw_only=True):
    """One exercise as its student sees it."""

    exercise: str
    title: str
    status: GradeStatus
    score: float
    max_score: float
    submitted_at: str | None
    late_seconds: int | None
    attempt_sha256: str | None
    stages: list[StageResult]
    hidden_cases: list[HiddenCases]
    remarks: list[Flag]


class StudentReport(Record, frozen=True, kw_only=True):
    """`students/ID.json`: all that one student may see."""

    schema: str = REPORT_SCHEMA
    set: str
    student: str
    score: float
    max_score: float
    exercises: list[SeenExercise]


def timeless(record: GradeRecord) -> bytes:
    """A record without what differs from run to run: how long things took."""
    verdict = record.verdict
    if verdict is not None:
        stages = [msgspec.structs.replace(stage, seconds=0.0) for stage in verdict.stages]
        verdict = msgspec.structs.replace(verdict, stages=stages, seconds=0.0)
    return msgspec.json.encode(msgspec.structs.replace(record, verdict=verdict))
