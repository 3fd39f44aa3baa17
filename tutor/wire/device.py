"""The device runner, which lives while something is timed: one job, and what it says of it."""

from __future__ import annotations

from typing import Literal

from tutor.protocol import CaseSpec, Finding, Record, Timing, ToleranceSpec
from tutor.wire.answers import Broken
from tutor.wire.judge import Repeated


class DeviceJob(Record, frozen=True, tag="device"):
    """Time two artifacts of one case beside each other on the device of `platform`, after checking the numbers.

    After it come `sets` frames with `.npz` bytes of inputs, and one of the outputs (`out0`, `out1`, …) that are right
    for the first set: whoever opens the chip runs no Python of a set. `chip`: what the artifacts were made for.
    `profiler`: the profiler's time is used where it can be had. The reference has a tolerance of its own where its
    products are less precise."""

    case: CaseSpec
    attempt: bytes
    reference: bytes
    sets: int
    tolerance: ToleranceSpec
    platform: Literal["cpu", "tpu"] = "tpu"
    budget_seconds: float = 5.0
    profiler: bool = True
    reference_tolerance: ToleranceSpec | None = None
    chip: str | None = None


Step = Literal["open", "attempt", "reference", "time"]


class Doing(Record, frozen=True, tag="doing"):
    """What the runner does next: it opens the device, runs one program for the first time, or times both. A runner
    that hangs or dies has said where."""

    step: Step


class Unopened(Record, frozen=True, tag="unopened"):
    """The device could not be opened, which is no fault of any kernel."""

    message: str


class Timed(Record, frozen=True, tag="timed"):
    """What the device runner measured, or why it did not. What it measured counts only once the judge has found the
    `Repeated` that were sent before it to be right."""

    timing: Timing | None
    findings: list[Finding]
    reason: str | None = None


DeviceAnswer = Doing | Repeated | Timed | Unopened | Broken
