"""Verdicts on many attempts: several at once, each different one only once, and none of them stops the others."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from tutor.grade.points import left_open
from tutor.ladder.check import AVAILABLE, Ladder
from tutor.ladder.events import CheckFinished
from tutor.ladder.proof_cache import Proofs, key
from tutor.protocol import Record, StageName, Tier, Verdict
from tutor.sets.cache import cache_folder
from tutor.sets.exercise import Exercise


class Asked(Record, frozen=True):
    """What every attempt of a run is asked. `secret`: the set's key, from which the inputs are drawn."""

    tier: Tier
    compile: bool = True
    chips: tuple[str, ...] | None = None
    secret: bytes | None = None

    @property
    def stages(self) -> tuple[StageName, ...] | None:
        """The stages to run; None for all of them."""
        return None if self.compile else tuple(name for name in AVAILABLE if name != "compile")


class Outcome(Record, frozen=True):
    """What came of one attempt. Without a verdict `trouble` says what went wrong on our side, twice.

    `reference`: the verdict on the reference, where some stage could not answer for the attempt."""

    verdict: Verdict | None
    trouble: str | None = None
    known: bool = False
    reference: Verdict | None = None


def verdict_folder() -> Path:
    """Where verdicts are remembered, beside the proofs of sets."""
    return cache_folder("verdicts")


class Judging:
    """Judges attempts with warm workers. What it found once is remembered in `cache`, except for faults of ours.

    What goes wrong on our side is tried once more, alone, with workers of its own: an attempt that ends its workers
    then takes no other one down with it."""

    def __init__(self, ladder: Ladder, another: Callable[[], Ladder], cache: Proofs, asked: Asked, jobs: int) -> None:
        self._ladder = ladder
        self._another = another
        self._cache = cache
        self._asked = asked
        self._slots = asyncio.Semaphore(jobs)
        self._alone = asyncio.Lock()
        self._running: dict[str, asyncio.Task[Outcome]] = {}
        self._hashes: dict[str, str] = {}

    async def judge(self, exercise: Exercise, source: bytes) -> Outcome:
        """The verdict on one attempt. Who hands in the same bytes gets the same verdict.

        Where a stage could not answer, the reference is asked as well: that tells what this machine cannot do from what
        the attempt evades."""
        outcome = await self._verdict(exercise, source)
        if outcome.verdict is None or not left_open(outcome.verdict) or exercise.reference is None:
            return outcome
        other = await self._verdict(exercise, exercise.reference.read_bytes())
        return msgspec.structs.replace(outcome, reference=other.verdict)

    async def _verdict(self, exercise: Exercise, source: bytes) -> Outcome:
        name = self._name(exercise, source)
        if name in self._running:
            return await asyncio.shield(self._running[name])
        known = self._cache.find(name, Verdict)
        if known is not None:
            return Outcome(known, known=True)
        task = asyncio.create_task(self._judge(exercise, source, name))
        self._running[name] = task
        try:
            return await asyncio.shield(task)
        finally:
            if task.done():
                self._running.pop(name, None)
            else:
                task.cancel()

    async def _judge(self, exercise: Exercise, source: bytes, name: str) -> Outcome:
        async with self._slots:
            outcome = await self._once(self._ladder, exercise, source)
        if outcome.trouble is not None:
            async with self._alone, _closing(self._another()) as ladder:
                outcome = await self._once(ladder, exercise, source)
        if outcome.trouble is None:
            self._cache.keep(name, outcome.verdict)
        return outcome

    async def _once(self, ladder: Ladder, exercise: Exercise, source: bytes) -> Outcome:
        verdict: Verdict | None = None
        try:
            events = ladder.check(
                exercise,
                source,
                f"{exercise.slug}.py",
                only=self._asked.stages,
                hidden=True,
                chips=self._asked.chips,
                key=self._asked.secret,
            )
            async with contextlib.aclosing(events):
                async for event in events:
                    if isinstance(event, CheckFinished):
                        verdict = event.verdict
        except Exception as error:  # whatever it is, the other students' attempts go on
            return Outcome(None, f"{type(error).__name__}: {error}")
        if verdict is None:
            return Outcome(None, "the check ended without a verdict")
        wrong = [stage for stage in verdict.stages if stage.status == "error"]
        if wrong:
            return Outcome(None, f"{wrong[0].name}: {wrong[0].reason}")
        if verdict.environment.isolation != self._asked.tier:
            return Outcome(None, f"it ran in tier {verdict.environment.isolation}, not in {self._asked.tier}")
        return Outcome(verdict)

    def _name(self, exercise: Exercise, source: bytes) -> str:
        """The hash of all that a verdict follows from: the file, the exercise with its hidden cases and oracle, the
        versions, the code of the judges, the tier, what is asked, and the key of the inputs."""
        if exercise.slug not in self._hashes:
            words = [(entry.when, entry.say) for entry in exercise.manifest.diagnosis]
            kernels = exercise.kernels.read_bytes() if exercise.kernels else b""
            asked = hashlib.sha256(msgspec.json.encode(self._asked)).hexdigest()
            promise = ("grade", asked, words, hashlib.sha256(kernels).hexdigest())
            self._hashes[exercise.slug] = key(exercise, b"", *promise)
        whole = self._hashes[exercise.slug] + hashlib.sha256(source).hexdigest()
        return hashlib.sha256(whole.encode()).hexdigest()


@asynccontextmanager
async def _closing(ladder: Ladder) -> AsyncIterator[Ladder]:
    try:
        yield ladder
    finally:
        await ladder.aclose()
