"""Times on the TPU of this machine, for `tune` and `bench`: the attempt of some runs beside their reference."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, NamedTuple

from tutor.ladder.chip import find_device, local_chip
from tutor.ladder.device import device_stage, time_on
from tutor.ladder.runs import Failed, Runs


class Measured(NamedTuple):
    """Microseconds of attempt and reference, or why there are none."""

    attempt_us: float | None = None
    reference_us: float | None = None
    reason: str | None = None


type Measure = Callable[[Runs], Awaitable[Measured]]


class Here(NamedTuple):
    """What measures, and the chip that it measures on; None where that is known only when it has been opened."""

    measure: Measure
    chip: str | None = None

    def row(self, chips: Sequence[str]) -> str | None:
        """Which of the chips that estimates are for has these times; None if it is none of them."""
        return self.chip if self.chip in chips else None if self.chip is not None else next(iter(chips), None)

    def why_not(self, chips: Sequence[str]) -> str:
        """Why nothing is measured where `row` is None."""
        return f"the chip of this machine is {self.chip}, and the table is about {', '.join(chips)}"


def measure_here() -> Here | None:
    """How this machine measures; None without a TPU."""
    return Here(measure_on("tpu"), local_chip()) if find_device() is not None else None


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
