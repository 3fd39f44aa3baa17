"""`device`: numbers and time on a real TPU, if this machine has one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from tutor.findings import finding
from tutor.ladder.runs import RUN_LIMITS, Runs
from tutor.ladder.verdict import stage_result
from tutor.protocol import CaseSpec, Finding, StageResult, Timing
from tutor.wire import Artifact, ArtifactJob, Attempt, Broken, DeviceJob, Timed
from tutor.workers.frames import HEADER, frame

BUDGET_SECONDS = 5.0
WALL_SECONDS = 120.0
SLOWER = 1.1
COMPILE_SERVER_VARIABLES = ("TPU_SKIP_MDS_QUERY", "ALLOW_MULTIPLE_LIBTPU_LOAD", "LIBTPU_INIT_ARGS")


def find_device(folder: Path = Path("/dev")) -> str | None:
    """The first TPU of this machine as a device path, found without opening it; None if there is none."""
    for pattern in ("accel[0-9]*", "vfio/[0-9]*"):
        for path in sorted(folder.glob(pattern)):
            return str(path)
    return None


async def device_stage(runs: Runs) -> tuple[StageResult, Timing | None]:
    """Time the attempt beside the reference. Without a TPU nothing is measured and nothing is claimed."""
    if find_device() is None:
        return stage_result("device", status="unavailable", reason="no TPU on this machine"), None
    return await time_on(runs, "tpu")


async def time_on(runs: Runs, platform: Literal["cpu", "tpu"]) -> tuple[StageResult, Timing | None]:
    """Export both programs for `platform`, let the runner check and time them, and say what came of it."""
    began = time.monotonic()
    subject = runs.subject
    case = subject.time_case
    if subject.reference is None:
        reason = "there is no reference solution to time beside"
        return stage_result("device", status="unavailable", reason=reason), None
    if subject.oracle is None:
        return stage_result("device", status="unavailable", reason="there is no oracle to compare with"), None
    attempt = await _artifact(runs, subject.attempt, case, platform)
    reference = await _artifact(runs, subject.reference, case, platform)
    if attempt is None or reference is None:
        whose = "attempt" if attempt is None else "reference"
        reason = f"the {whose} could not be exported for case {case.name}"
        return stage_result("device", status="unavailable", reason=reason), None
    job = DeviceJob(
        oracle=subject.oracle,
        case=case,
        attempt=attempt,
        reference=reference,
        seed=subject.seed_of(case, 0) % (1 << 62),
        tolerance=subject.tolerance,
        platform=platform,
        budget_seconds=BUDGET_SECONDS,
    )
    answer = await run_on_device(job, os.environ)
    seconds = time.monotonic() - began
    if isinstance(answer, Broken):
        problem = finding("KT705", f"The device runner could not finish: {answer.message}", raw=answer.traceback)
        return stage_result("device", [problem], seconds=seconds), None
    findings = [*answer.findings, *_slower(answer.timing)]
    return stage_result("device", findings, reason=answer.reason, seconds=seconds), answer.timing


async def run_on_device(job: DeviceJob, environment: Mapping[str, str]) -> Timed | Broken:
    """Start the runner, give it the job, and wait until it has let the device go."""
    ours = {name: value for name, value in environment.items() if name not in COMPILE_SERVER_VARIABLES}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tutor.judge.device",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**ours, "JAX_PLATFORMS": job.platform},
        start_new_session=True,
    )  # fmt: skip
    try:
        told = process.communicate(frame(msgspec.msgpack.encode(job)))
        answer, talk = await asyncio.wait_for(told, WALL_SECONDS)
    except TimeoutError:
        return Broken(f"it gave no answer in {WALL_SECONDS:.0f} seconds", "")
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    try:
        return msgspec.msgpack.decode(answer[HEADER:], type=Timed | Broken)
    except msgspec.MsgspecError:
        return Broken(f"it ended with exit code {process.returncode}", talk.decode("utf-8", "replace")[-4000:])


async def _artifact(runs: Runs, program: Attempt, case: CaseSpec, platform: Literal["cpu", "tpu"]) -> bytes | None:
    data: bytes | None = None
    async for answer in runs.ask(runs.stage, ArtifactJob(program, [case], [platform], RUN_LIMITS)):
        if isinstance(answer, Artifact):
            data = (await runs.scanned(answer)).data
    return data


def _slower(timing: Timing | None) -> list[Finding]:
    if timing is None or timing.ratio_low < SLOWER:
        return []
    message = (
        f"On {timing.device_kind} your kernel takes {timing.attempt_us:.0f} µs, the reference "
        f"{timing.reference_us:.0f} µs: {timing.ratio:.2f} times as long."
    )
    return [finding("KT702", message, severity="warning")]
