"""`device`: numbers and time on a real TPU, if this machine has one."""

from __future__ import annotations

from pathlib import Path

from tutor.ladder.runs import Runs
from tutor.ladder.verdict import stage_result
from tutor.protocol import StageResult, Timing


def find_device() -> str | None:
    """The first TPU of this machine as a device path, found without opening it; None if there is none."""
    for pattern in ("accel*", "vfio/[0-9]*"):
        for path in sorted(Path("/dev").glob(pattern)):
            return str(path)
    return None


async def device_stage(runs: Runs) -> tuple[StageResult, Timing | None]:
    """Time the attempt beside the reference. Without a TPU nothing is measured and nothing is claimed."""
    if find_device() is None:
        return stage_result("device", status="unavailable", reason="no TPU on this machine"), None
    return stage_result("device", status="unavailable", reason="timing is not there yet"), None
