"""`device`: numbers and time on a real TPU, if this machine has one."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Mapping
from typing import Literal

import msgspec

from tutor.findings import finding
from tutor.ladder.chip import RUNNER, devices, find_device, in_words, local_chip
from tutor.ladder.limits import advice
from tutor.ladder.process import end, start
from tutor.ladder.runs import Runs
from tutor.ladder.speed_words import timed_findings
from tutor.ladder.timed_case import Lowered, integer_values, lowered
from tutor.ladder.verdict import stage_result
from tutor.ladder.work import device_tolerance, reached, work_of
from tutor.protocol import CaseSpec, StageResult, Timing
from tutor.roof import chip_of, roof
from tutor.wire import Broken, DeviceJob, Timed
from tutor.workers.frames import HEADER, frame

BUDGET_SECONDS = 5.0
WALL_SECONDS = 120.0
COMPILE_SERVER_VARIABLES = ("TPU_SKIP_MDS_QUERY", "ALLOW_MULTIPLE_LIBTPU_LOAD", "LIBTPU_INIT_ARGS")


async def device_stage(runs: Runs) -> tuple[StageResult, Timing | None]:
    """Time the attempt beside the reference. Without a TPU, or with one that is taken, nothing is claimed."""
    if find_device() is None:
        return stage_result("device", status="unavailable", reason="no TPU on this machine"), None
    if holders := devices().holders:
        words = " and ".join(map(in_words, holders))
        reason = f"the TPU is held by {words}; nothing is timed until it lets go"
        found = finding("KT704", f"The TPU is held by {words}.", severity="note")
        return stage_result("device", [found], status="unavailable", reason=reason), None
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
    values = await integer_values(runs, case)
    chips = tuple(filter(None, [local_chip() if platform == "tpu" else None]))
    attempt = await lowered(runs, subject.attempt, case, values, platform, chips)
    reference = await lowered(runs, subject.reference, case, values, platform, chips)
    programs = [_one(attempt), _one(reference)]
    if programs[0] is None or programs[1] is None:
        whose = "attempt" if programs[0] is None else "reference"
        reason = f"the {whose} could not be exported for case {case.name}"
        return stage_result("device", status="unavailable", reason=reason), None
    job = DeviceJob(
        oracle=subject.oracle,
        case=case,
        attempt=programs[0],
        reference=programs[1],
        seed=subject.seed_of(case, 0) % (1 << 62),
        tolerance=device_tolerance(attempt.facts, subject.tolerance),
        reference_tolerance=device_tolerance(reference.facts, subject.tolerance),
        platform=platform,
        budget_seconds=BUDGET_SECONDS,
    )
    answer = await run_on_device(job, os.environ)
    seconds = time.monotonic() - began
    if isinstance(answer, Broken):
        problem = finding("KT705", f"The device runner could not finish: {answer.message}", raw=answer.traceback)
        return stage_result("device", [problem], seconds=seconds), None
    timing = with_roof(answer.timing, attempt, reference, case) if answer.timing else None
    findings = [*answer.findings, *(timed_findings(timing) if timing else [])]
    return stage_result("device", findings, reason=answer.reason, seconds=seconds), timing


def with_roof(timing: Timing, attempt: Lowered, reference: Lowered, case: CaseSpec) -> Timing:
    """The timing with what the programs did, and how near they came to what the chip can do."""
    mine, other = work_of(attempt.facts, case), work_of(reference.facts, case)
    chip = chip_of(timing.device_kind)
    top = roof(chip, timing.cores) if chip is not None else None
    said = advice(attempt.facts, mine, top, timing.attempt_us) if attempt.facts and mine and top else None
    return msgspec.structs.replace(
        timing,
        chip=chip,
        work=mine,
        reference_work=other,
        advice=said.words if said else None,
        attempt=reached(mine, top, timing.attempt_us),
        reference=reached(other, top, timing.reference_us),
    )


async def run_on_device(job: DeviceJob, environment: Mapping[str, str]) -> Timed | Broken:
    """Start the runner, give it the job, and wait until it has let the device go."""
    ours = {name: value for name, value in environment.items() if name not in COMPILE_SERVER_VARIABLES}
    process = await start(sys.executable, "-m", RUNNER, env={**ours, "JAX_PLATFORMS": job.platform})
    try:
        told = process.communicate(frame(msgspec.msgpack.encode(job)))
        answer, talk = await asyncio.wait_for(told, WALL_SECONDS)
    except TimeoutError:
        return Broken(f"it gave no answer in {WALL_SECONDS:.0f} seconds", "")
    finally:
        await end(process)
    try:
        return msgspec.msgpack.decode(answer[HEADER:], type=Timed | Broken)
    except msgspec.MsgspecError:
        return Broken(f"it ended with exit code {process.returncode}", talk.decode("utf-8", "replace")[-4000:])


def _one(program: Lowered) -> bytes | None:
    return next(iter(program.artifacts.values()), None)
