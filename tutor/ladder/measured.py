"""Times on the TPU of this machine, for `tune` and `bench`: the attempt of some runs beside their reference."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, NamedTuple

from tutor.ladder.chip import find_device
from tutor.ladder.device import device_stage, time_on
from tutor.ladder.runs import Failed, Runs


class Measured(NamedTuple):
    """Microseconds of attempt and reference, or why there are none."""

    attempt_us: float | None = None
    reference_us: float | None = None
    reason: str | None = None


type Measure = Callable[[Runs], Awaitable[Measured]]


def measure_here() -> Measure | None:
    """How this machine measures; None without a TPU."""
    return measure_on("tpu") if find_device() is not None else None


def measure_on(platform: Literal["cpu", "tpu"]) -> Measure:
    """Measure on this platform: numbers are checked first, and a wrong result has no time."""

    async def measure(runs: Runs) -> Measured:
        try:
            result, timing = await (device_stage(runs) if platform == "tpu" else time_on(runs, platform))
        except Failed as failed:  # the oracle, say: what was estimated is worth having without it
            return Measured(reason=str(failed))
        if timing is None:
            said = next((found.message for found in result.findings if found.severity == "error"), None)
            return Measured(reason=result.reason or said or "nothing was measured")
        if any(found.severity == "error" for found in result.findings):
            return Measured(reason=next(f.message for f in result.findings if f.severity == "error"))
        return Measured(timing.attempt_us, timing.reference_us)

    return measure
