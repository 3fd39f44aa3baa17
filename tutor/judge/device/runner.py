"""Check the attempt's numbers on the device, then time it beside the reference, then check what it gave meanwhile."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.export
import numpy as np

from tutor.findings import finding
from tutor.judge.compare import Comparison, compare
from tutor.judge.device.clock import Program, dispatch_us, empty_program
from tutor.judge.device.contest import APART, ATTEMPT, REFERENCE, ClockLost, Contest, NotThere, arrays_of
from tutor.judge.device.fresh import FreshInputs, Poison, pool_size
from tutor.judge.device.interval import spread
from tutor.judge.device.protocol import Sampled, compare_times
from tutor.judge.oracle import Oracle
from tutor.judge.tolerance import bounds_for
from tutor.protocol import CaseSpec, Finding, Timing, ToleranceSpec
from tutor.wire import DeviceJob, Timed
from tutor.workers.arrays import Array

WARM_UP = 4
SLACK = 2.5
"""How far the attempt may be from the reference, in bounds: each may be one bound from what is right."""

type Expected = Callable[[dict[str, Array]], Sequence[Array]]


def time_beside_reference(job: DeviceJob) -> Timed:
    """Load both artifacts and time them on the first device. A wrong kernel is not timed."""
    device = jax.devices(job.platform)[0]
    oracle = Oracle(job.oracle)
    size = pool_size(list(oracle.make_inputs(job.case, job.seed).values()))
    pool = [list(oracle.make_inputs(job.case, job.seed + n).values()) for n in range(size)]
    fresh = FreshInputs(pool, device, secrets.randbits(62))
    return Bench(
        load(job.attempt, ATTEMPT), load(job.reference, REFERENCE), fresh, device, job.case,
        lambda inputs: oracle.expected(inputs, job.case), job.tolerance, job.reference_tolerance or job.tolerance,
    ).run(job.budget_seconds, profiler=job.profiler)  # fmt: skip


def load(artifact: bytes, name: str) -> Program:
    """An artifact as a program that a profile calls `name`."""
    exported = jax.export.deserialize(bytearray(artifact))

    def run(*arrays: Any) -> Any:
        return exported.call(*arrays)

    run.__name__ = name
    program: Program = jax.jit(run)
    return program


class Bench:
    """One timing, from the first check to the last."""

    def __init__(
        self,
        attempt: Program,
        reference: Program,
        fresh: FreshInputs,
        device: Any,
        case: CaseSpec,
        expected: Expected,
        tolerance: ToleranceSpec,
        reference_tolerance: ToleranceSpec,
    ) -> None:
        self._attempt, self._reference = attempt, reference
        self._fresh, self._device = fresh, device
        self._case, self._expected = case, expected
        self._tolerance, self._reference_tolerance = tolerance, reference_tolerance
        # The seeds of what is drawn are nobody's to know: a program could go by them.
        self._rng = np.random.default_rng(secrets.randbits(62))

    def run(self, budget_seconds: float, *, profiler: bool = True) -> Timed:
        """Check, time, and check again."""
        try:
            return self._run(budget_seconds, profiler)
        except NotThere:
            message = "The program gave something that is no array of this device, so nobody knows when it is done."
            return Timed(None, [finding("KT706", message, case=self._case.name)], reason=message)

    def _run(self, budget_seconds: float, profiler: bool) -> Timed:
        first = self._fresh.of(APART)
        got = arrays_of(jax.block_until_ready(self._attempt(*first)))
        wrong = self._wrong(first, got, self._tolerance)
        if wrong is not None:
            found = finding("KT701", wrong.findings[0].message, raw=wrong.findings[0].raw, case=self._case.name)
            return Timed(None, [found], reason="the numbers on the device are wrong")
        wanted = arrays_of(jax.block_until_ready(self._reference(*first)))
        if (broken := self._wrong(first, wanted, self._reference_tolerance)) is not None:
            said = broken.findings[0].message
            message = f"The reference gives wrong numbers on this device, so nothing was timed beside it: {said}"
            return Timed(None, [finding("KT904", message, case=self._case.name)], reason="the reference is wrong here")
        contest = Contest(self._attempt, self._reference, self._fresh, Poison(got), self._rng)
        contest.warm_up(WARM_UP, profiler=profiler)
        try:
            sampled = compare_times(contest.measure, self._rng, budget_seconds=budget_seconds)
        except ClockLost:
            contest.forget()
            sampled = compare_times(contest.measure, self._rng, budget_seconds=budget_seconds)
        if changed := self._changed(contest):
            return Timed(None, [changed], reason="the numbers on the device changed while it was timed")
        dispatch = dispatch_us(empty_program(first, got), first) if contest.clock == "wall" else None
        return Timed(self._timing(contest, sampled, dispatch), [])

    def _timing(self, contest: Contest, sampled: Sampled, dispatch: float | None) -> Timing:
        attempt, reference = zip(*sampled.samples, strict=True)
        return Timing(
            device_kind=self._device.device_kind,
            attempt_us=float(np.median(attempt)),
            reference_us=float(np.median(reference)),
            ratio=sampled.ratio,
            ratio_low=sampled.low,
            ratio_high=sampled.high,
            clock=contest.clock,
            samples=sampled.samples,
            case=self._case.name,
            cores=getattr(self._device, "num_cores", None) or 1,
            attempt_spread=spread(attempt),
            reference_spread=spread(reference),
            dispatch_us=dispatch,
            rechecked=len(contest.kept),
            inputs=self._fresh.words,
        )

    def _changed(self, contest: Contest) -> Finding | None:
        """What shows that the timed repeats were not like the first, checked one. Every repeat is held against the
        reference, and some, drawn at random, against the oracle."""
        apart = contest.apart()
        off = [number for number, far in enumerate(apart) if not far <= self._slack(contest)]
        if off:
            message = (
                f"In {len(off)} of {len(apart)} timed repeats the outputs are not those of the inputs that the repeat "
                "was given, although they were right before the clock ran."
            )
            return finding("KT706", message, case=self._case.name)
        for kept in contest.kept:
            wrong = self._wrong(self._fresh.of(kept.number), kept.outputs, self._tolerance)
            if wrong is not None:
                message = f"The outputs of timed repeat {kept.number} are wrong: {wrong.findings[0].message}"
                return finding("KT706", message, raw=wrong.findings[0].raw, case=self._case.name)
        return None

    def _slack(self, contest: Contest) -> float:
        outputs = contest.kept[0].outputs if contest.kept else []
        given = (self._tolerance, self._reference_tolerance)
        bounds = [bounds_for(np.dtype(out.dtype), one) for out in outputs for one in given]
        return SLACK * max((one.rel_l2 for one in bounds if one is not None), default=0.0)

    def _wrong(self, inputs: Sequence[Any], outputs: Sequence[Any], tolerance: ToleranceSpec) -> Comparison | None:
        """How the outputs differ from the oracle's; None if they are right."""
        names = [spec.name for spec in self._case.inputs]
        given = {name: np.asarray(array) for name, array in zip(names, inputs, strict=True)}
        outcome = compare([np.asarray(out) for out in outputs], self._expected(given), self._case, tolerance)
        return outcome if any(found.severity == "error" for found in outcome.findings) else None
