"""What is judged: one attempt at one exercise, with everything the stages need to know of it."""

from __future__ import annotations

import hashlib
import hmac

import msgspec

from tutor.protocol import PARENTS, AttemptId, CaseSpec, Figures, Record, Rules, StageName, ToleranceSpec
from tutor.sets.exercise import Exercise
from tutor.wire import Attempt, Given, OracleFile


class Named(Record, frozen=True):
    """An attempt, and what a verdict must know of its exercise."""

    set_id: str | None
    slug: str | None
    attempt: Attempt
    points: dict[StageName, float]

    @property
    def id(self) -> AttemptId:
        return AttemptId(path=self.attempt.path, sha256=hashlib.sha256(self.attempt.source).hexdigest())


class Subject(Named, frozen=True):
    """An attempt and the exercise data it is judged by. `seed` varies the inputs; None repeats the usual ones.

    With a `key` the seeds follow from that secret, and nobody without it can work out the inputs. It stays here: the
    workers are given seeds and never the key. `figures` are what is known of a reference that is not there.

    An inspected file has no rules and no oracle: what it is judged by is `given`, with its `integers` apart."""

    cases: list[CaseSpec]
    oracle: OracleFile | None
    rules: Rules | None
    tolerance: ToleranceSpec
    diagnosis: dict[str, str]
    reference: Attempt | None
    time_case: CaseSpec
    chips: tuple[str, ...] = ("v5e", "v6e")
    seed: int | None = None
    given: Given | None = None
    integers: bytes = b""
    may_hang: bool = False
    key: bytes | None = None
    figures: tuple[Figures, ...] = ()

    def case(self, name: str) -> CaseSpec:
        """The case called `name`."""
        return next(case for case in self.cases if case.name == name)

    def seeds(self, case: CaseSpec) -> list[int]:
        """The seeds of a case: fixed by the case, so that a verdict repeats."""
        return [self.seed_of(case, number) for number in range(case.seeds)]

    def hazard_seed(self, case: CaseSpec) -> int:
        """The seed of the simulator's inputs, apart from those of `interpret`."""
        return self.seed_of(case, -1)

    def seed_of(self, case: CaseSpec, number: int) -> int:
        if self.key is None:
            text = f"{self.set_id}/{self.slug}/{case.name}/{number}/{'' if self.seed is None else self.seed}"
            digest = hashlib.sha256(text.encode()).digest()
        else:
            named = msgspec.json.encode([self.set_id, self.slug, case.name, number, self.seed])
            digest = hmac.digest(self.key, named, "sha256")
        return int.from_bytes(digest[:8], "big")


def subject(
    exercise: Exercise,
    source: bytes,
    path: str,
    *,
    hidden: bool = False,
    seed: int | None = None,
    chips: tuple[str, ...] | None = None,
    key: bytes | None = None,
) -> Subject:
    """An attempt at `exercise`. Hidden cases only on request; the `time` case is for `compile` and `device`.

    `key`: the set's secret, from which the seeds are drawn; without it anyone can repeat them."""
    manifest = exercise.manifest
    reference = exercise.reference
    cases = exercise.cases(hidden=hidden)
    checked = [case for case in cases if case.role == "check"]
    return Subject(
        set_id=exercise.set_id,
        slug=exercise.slug,
        attempt=Attempt(source, path, exercise.entry),
        cases=checked,
        oracle=_oracle(exercise),
        rules=manifest.rules,
        tolerance=exercise.tolerance,
        points=dict(manifest.points),
        diagnosis={entry.when: entry.say for entry in manifest.diagnosis},
        reference=Attempt(reference.read_bytes(), str(reference), exercise.entry) if reference else None,
        time_case=next((case for case in cases if case.role == "time"), checked[0]),
        chips=chips or exercise.chips,
        seed=seed,
        key=key,
        figures=exercise.figures,
    )


def _oracle(exercise: Exercise) -> OracleFile | None:
    """None if there is no such file: the judge then says that the exercise is broken."""
    path = exercise.oracle
    return OracleFile(path.read_bytes(), str(path)) if path is not None and path.is_file() else None


def wanted_stages(target: StageName | None, available: tuple[StageName, ...]) -> tuple[StageName, ...]:
    """The stages to run, in order: all that are available, or `target` and its ancestors."""
    if target is None:
        return available
    needed = {target}
    for stage in reversed(available):
        if stage in needed:
            needed.update(PARENTS[stage])
    return tuple(stage for stage in available if stage in needed)
