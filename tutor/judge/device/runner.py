"""Check the attempt's numbers on the device, then time it beside the reference, then hand over what it gave meanwhile.

Inputs and right outputs are given: the oracle is Python of the set, and runs in the judge."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.export
import numpy as np

from tutor.findings import finding
from tutor.judge.compare import Comparison, compare
from tutor.judge.device.clock import Program, WallClock, dispatch_us, empty_program, wall_us
from tutor.judge.device.contest import ATTEMPT, REFERENCE, ClockLost, Contest, Kept, NotThere, arrays_of
from tutor.judge.device.fresh import FreshInputs, Poison
from tutor.judge.device.interval import spread
from tutor.judge.device.protocol import Sampled, compare_times
from tutor.judge.tolerance import bounds_for
from tutor.protocol import CaseSpec, Finding, Timing, ToleranceSpec
from tutor.roof import chip_of
from tutor.wire import DeviceAnswer, DeviceJob, Doing, Repeated, Step, Timed, Unopened
from tutor.workers.arrays import Array, numbered, pack, unpack

WARM_UP = 4
KEPT = 3
KEPT_BYTES = 256 << 20
"""Timed repeats that the judge compares with the oracle: so many, or fewer where their arrays are large."""
SLACK = 2.5
"""How far the attempt may be from the reference, in bounds: each may be one bound from what is right."""

type Send = Callable[[DeviceAnswer], None]


def time_beside_reference(job: DeviceJob, sets: Sequence[bytes], expected: bytes, send: Send) -> Timed | Unopened:
    """Load both artifacts and time them on the first device of this process. A wrong kernel is not timed."""
    send(Doing("open"))
    try:
        device = jax.local_devices(backend=job.platform)[0]
    except RuntimeError as error:
        return Unopened(str(error))
    if job.chip is not None and (chip := chip_of(device.device_kind)) != job.chip:
        named = chip or f"one that is not known here ({device.device_kind})"
        return Timed(None, [], reason=f"the programs were made for {job.chip}, but the chip of this machine is {named}")
    pool = [_in_order(one, [spec.name for spec in job.case.inputs]) for one in sets]
    want = _in_order(expected, [f"out{n}" for n in range(len(job.case.outputs))])
    bench = Bench(
        load(job.attempt, ATTEMPT), load(job.reference, REFERENCE), FreshInputs(pool, device, secrets.randbits(62)),
        device, job.case, want, job.tolerance, job.reference_tolerance or job.tolerance,
    )  # fmt: skip
    timed = bench.run(job.budget_seconds, profiler=job.profiler, doing=lambda step: send(Doing(step)))
    for repeat in bench.repeats() if timed.timing else ():
        send(repeat)
    return timed


def _in_order(data: bytes, names: Sequence[str]) -> list[Array]:
    arrays = unpack(data)
    return [arrays[name] for name in names]


def load(artifact: bytes, name: str) -> Program:
    """An artifact as a program that a profile calls `name`."""
    exported = jax.export.deserialize(bytearray(artifact))

    def run(*arrays: Any) -> Any:
        return exported.call(*arrays)

    run.__name__ = name
    program: Program = jax.jit(run)
    return program


class Bench:
    """One timing, from the first check to the last. `expected` is what is right for the first set of `fresh`."""

    def __init__(
        self,
        attempt: Program,
        reference: Program,
        fresh: FreshInputs,
        device: Any,
        case: CaseSpec,
        expected: Sequence[Array],
        tolerance: ToleranceSpec,
        reference_tolerance: ToleranceSpec,
    ) -> None:
        self._attempt, self._reference = attempt, reference
        self._fresh, self._device = fresh, device
        self._case, self._expected = case, expected
        self._tolerance, self._reference_tolerance = tolerance, reference_tolerance
        # The seeds of what is drawn are nobody's to know: a program could go by them.
        self._rng = np.random.default_rng(secrets.randbits(62))
        self._kept: list[Kept] = []

    def run(
        self,
        budget_seconds: float,
        *,
        profiler: bool = True,
        doing: Callable[[Step], None] = lambda _: None,
        timed: WallClock = wall_us,
    ) -> Timed:
        """Check, time, and hold what was timed against the reference. `doing` is told what comes next. The timing
        counts once the judge has found `repeats` to be right."""
        try:
            return self._run(budget_seconds, profiler, doing, timed)
        except NotThere:
            message = "The program gave something that is no array of this device, so nobody knows when it is done."
            return Timed(None, [finding("KT706", message, case=self._case.name)], reason=message)

    def repeats(self) -> Iterator[Repeated]:
        """Timed repeats with what the attempt gave in them, drawn at random; their inputs are made once more."""
        names = [spec.name for spec in self._case.inputs]
        for kept in self._kept:
            inputs = dict(zip(names, map(np.asarray, self._fresh.of(kept.number)), strict=True))
            yield Repeated(kept.number, pack(inputs), pack(numbered(kept.outputs)))

    def _run(self, budget_seconds: float, profiler: bool, doing: Callable[[Step], None], timed: WallClock) -> Timed:
        doing("attempt")
        first = self._fresh.plain()
        try:
            got = arrays_of(jax.block_until_ready(self._attempt(*first)))
        except jax.errors.JaxRuntimeError as error:
            found = finding(
                "KT705", "The kernel failed while it ran on the chip.", raw=str(error), case=self._case.name
            )
            return Timed(None, [found], reason="the kernel failed on the chip")
        wrong = self._wrong(got, self._tolerance)
        if wrong is not None:
            found = finding("KT701", wrong.findings[0].message, raw=wrong.findings[0].raw, case=self._case.name)
            return Timed(None, [found], reason="the numbers on the device are wrong")
        doing("reference")
        wanted = arrays_of(jax.block_until_ready(self._reference(*first)))
        if (broken := self._wrong(wanted, self._reference_tolerance)) is not None:
            said = broken.findings[0].message
            message = f"The reference gives wrong numbers on this device, so nothing was timed beside it: {said}"
            return Timed(None, [finding("KT904", message, case=self._case.name)], reason="the reference is wrong here")
        doing("time")
        keep = max(1, min(KEPT, KEPT_BYTES // sum(array.nbytes for array in [*first, *got])))
        contest = Contest(self._attempt, self._reference, self._fresh, Poison(got), self._rng, keep=keep, timed=timed)
        contest.warm_up(WARM_UP, profiler=profiler)
        try:
            sampled = compare_times(contest.measure, self._rng, budget_seconds=budget_seconds)
        except ClockLost:
            contest.forget()
            sampled = compare_times(contest.measure, self._rng, budget_seconds=budget_seconds)
        self._kept = contest.kept
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
        """What shows that the timed repeats were not like the first, checked one: every repeat is held against the
        reference, within what both may be off."""
        apart = contest.apart()
        off = [number for number, far in enumerate(apart) if not far <= self._slack(contest)]
        if not off:
            return None
        message = (
            f"In {len(off)} of {len(apart)} timed repeats the outputs are not those of the inputs that the repeat "
            "was given, although they were right before the clock ran."
        )
        return finding("KT706", message, case=self._case.name)

    def _slack(self, contest: Contest) -> float:
        outputs = contest.kept[0].outputs if contest.kept else []
        given = (self._tolerance, self._reference_tolerance)
        bounds = [bounds_for(np.dtype(out.dtype), one) for out in outputs for one in given]
        return SLACK * max((one.rel_l2 for one in bounds if one is not None), default=0.0)

    def _wrong(self, outputs: Sequence[Any], tolerance: ToleranceSpec) -> Comparison | None:
        """How the outputs for the first set differ from what is right; None if they do not."""
        outcome = compare([np.asarray(out) for out in outputs], self._expected, self._case, tolerance)
        return outcome if any(found.severity == "error" for found in outcome.findings) else None
