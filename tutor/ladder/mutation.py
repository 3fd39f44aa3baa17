"""`set check --mutants`: do the cases of an exercise kill the automatic mutants of its reference?"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from functools import partial
from pathlib import Path

import msgspec

from tutor.ladder.check import Ladder
from tutor.ladder.first_failure import QUICK, first_failure
from tutor.ladder.in_order import in_order
from tutor.ladder.mutants import Mutant, mutants
from tutor.ladder.proof_cache import Proofs, key
from tutor.protocol import STAGES, Record, StageName
from tutor.sets.errors import ManifestError, Problem
from tutor.sets.exercise import Exercise
from tutor.sets.reading import read_manifest

KILL_SHARE = 0.95
FILE = "mutants.toml"


class Equivalent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[[equivalent]]`: a mutant by its name, and why no case can tell it from the reference."""

    mutant: str
    reason: str


class MutantsManifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`solutions/…/mutants.toml`: the mutants that are right programs too."""

    equivalent: tuple[Equivalent, ...] = ()


class Killed(Record, frozen=True):
    """What came of one mutant. `stage` is the first that failed, None if it survived, and `code` what it said, if it
    had come to that. `reason` is why a survivor is as good as the reference, if that is declared."""

    name: str
    stage: StageName | None
    code: str | None
    reason: str | None = None
    kept: bool = False


class Share(Record, frozen=True):
    """How many mutants there are, how many the cases kill, and which survive without a reason."""

    total: int
    killed: int
    equivalent: int
    undeclared: tuple[str, ...]

    @property
    def share(self) -> float:
        """Killed mutants over those that are not equivalent; 1 if there are none."""
        real = self.total - self.equivalent
        return self.killed / real if real else 1.0

    @property
    def good(self) -> bool:
        """Whether enough are killed and every survivor has a reason."""
        return self.share >= KILL_SHARE and not self.undeclared


def mutation(ladder: Ladder, exercise: Exercise, proofs: Proofs) -> AsyncGenerator[Killed]:
    """Judge every mutant of the reference on public and hidden cases, in the order of the program."""
    assert exercise.reference is not None
    found = mutants(exercise.reference.read_text(encoding="utf-8"))
    reasons = declared(exercise, found)
    return in_order([partial(_try, ladder, exercise, one, reasons.get(one.name), proofs) for one in found])


def declared(exercise: Exercise, found: list[Mutant]) -> dict[str, str]:
    """The reasons of `mutants.toml` by mutant. A name that no mutant has (any more) is a `ManifestError`."""
    path = exercise.solutions / FILE
    if not path.is_file():
        return {}
    manifest, _ = read_manifest(path, MutantsManifest)
    known = {mutant.name for mutant in found}
    problems = [
        Problem(("equivalent", i, "mutant"), f'no mutant of reference.py is called "{entry.mutant}".')
        for i, entry in enumerate(manifest.equivalent)
        if entry.mutant not in known
    ]
    if problems:
        raise ManifestError(path, problems)
    return {entry.mutant: entry.reason for entry in manifest.equivalent}


def share(outcomes: list[Killed]) -> Share:
    """What the outcomes of all mutants of an exercise come to."""
    survivors = [one for one in outcomes if one.stage is None]
    return Share(
        total=len(outcomes),
        killed=len(outcomes) - len(survivors),
        equivalent=sum(one.reason is not None for one in survivors),
        undeclared=tuple(one.name for one in survivors if one.reason is None),
    )


async def _try(ladder: Ladder, exercise: Exercise, mutant: Mutant, reason: str | None, proofs: Proofs) -> Killed:
    outcome = await _judged(ladder, exercise, mutant, proofs)
    return msgspec.structs.replace(outcome, reason=reason if outcome.stage is None else None)


async def _judged(ladder: Ladder, exercise: Exercise, mutant: Mutant, proofs: Proofs) -> Killed:
    source = mutant.source.encode()
    name = key(exercise, source, "mutant")
    kept = proofs.find(name, Killed)
    if kept is not None:
        return msgspec.structs.replace(kept, name=mutant.name, kept=True)
    rest = tuple(stage for stage in STAGES if stage in ladder.stages(exercise) and stage not in (*QUICK, "device"))
    path = str(Path(exercise.solutions) / "mutant.py")
    failure = await first_failure(ladder, exercise, source, path, QUICK)
    if failure is None:
        failure = await first_failure(ladder, exercise, source, path, ("load", "trace", *rest))
    outcome = Killed(mutant.name, failure.stage, failure.code) if failure else Killed(mutant.name, None, None)
    proofs.keep(name, outcome)
    return outcome
