"""`device`: numbers and time on a real TPU, if this machine has one."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from typing import Literal

import msgspec

from tutor.findings import finding
from tutor.ladder.chip import devices, find_device, in_words, local_chip
from tutor.ladder.device_process import Lost, environment_for, run_on_device
from tutor.ladder.limits import advice
from tutor.ladder.one_chip import Choice, choose
from tutor.ladder.runs import Runs
from tutor.ladder.speed_words import timed_findings
from tutor.ladder.timed_case import Lowered, integer_values, lowered
from tutor.ladder.truth import recheck, too_large, truth_of
from tutor.ladder.verdict import stage_result
from tutor.ladder.work import device_tolerance, reached, work_of
from tutor.protocol import CaseSpec, StageResult, Status, Timing
from tutor.roof import chip_of, roof
from tutor.wire import Broken, DeviceJob, Timed, Unopened

BUDGET_SECONDS = 5.0
OURS_SECONDS = 30.0
"""How long a device runner of another check is waited for: it times for some seconds, or was killed just now."""


async def device_stage(runs: Runs) -> tuple[StageResult, Timing | None]:
    """Time the attempt beside the reference. Without a TPU, or with one that is taken, nothing is claimed."""
    if find_device() is None:
        return stage_result("device", status="unavailable", reason="no TPU on this machine"), None
    choice = choose(devices(), local_chip(), os.environ)
    if choice.held_by and not choice.ours:
        return held(choice), None
    return await time_on(runs, "tpu", a_free_chip)


def held(choice: Choice) -> StageResult:
    """Nothing is timed: who has the chip."""
    words = " and ".join(map(in_words, choice.held_by))
    reason = f"the TPU is held by {words}; nothing is timed until it lets go"
    found = finding("KT704", f"The TPU is held by {words}.", severity="note")
    return stage_result("device", [found], status="unavailable", reason=reason)


async def a_free_chip() -> Choice:
    """A chip that nobody holds, or who holds them all. Runners of ours are waited for."""
    end = time.monotonic() + OURS_SECONDS
    while (choice := choose(devices(), local_chip(), os.environ)).ours and time.monotonic() < end:
        await asyncio.sleep(0.2)
    return choice


async def any_device() -> Choice:
    """For a device that many can have at once."""
    return Choice({}, [])


async def time_on(
    runs: Runs, platform: Literal["cpu", "tpu"], a_device: Callable[[], Awaitable[Choice]] = any_device
) -> tuple[StageResult, Timing | None]:
    """Export both programs for `platform`, let the runner check and time them, and say what came of it. `a_device` says
    which one the runner is to open; where it cannot be opened alone, all are tried once. One runner at a time."""
    began = time.monotonic()
    subject = runs.subject
    case = subject.time_case
    if subject.reference is None:
        reason = "there is no reference solution to time beside"
        return stage_result("device", status="unavailable", reason=reason), None
    if subject.oracle is None:
        return stage_result("device", status="unavailable", reason="there is no oracle to compare with"), None
    if (why := too_large(case)) is not None:
        return stage_result("device", status="unavailable", reason=why), None
    values = await integer_values(runs, case)
    chips = tuple(filter(None, [local_chip() if platform == "tpu" else None]))
    attempt = await lowered(runs, subject.attempt, case, values, platform, chips)
    reference = await lowered(runs, subject.reference, case, values, platform, chips)
    chip = (chips or subject.chips)[0] if platform == "tpu" else None
    programs = [program.artifacts.get(chip or "cpu") for program in (attempt, reference)]
    if programs[0] is None or programs[1] is None:
        whose = "attempt" if programs[0] is None else "reference"
        reason = f"the {whose} could not be exported for case {case.name}"
        return stage_result("device", status="unavailable", reason=reason), None
    truth = await truth_of(runs, subject.oracle, case, subject.seed_of(case, 0) % (1 << 62))
    job = DeviceJob(
        case=case,
        attempt=programs[0],
        reference=programs[1],
        sets=len(truth.sets),
        tolerance=device_tolerance(attempt.facts, subject.tolerance),
        reference_tolerance=device_tolerance(reference.facts, subject.tolerance),
        platform=platform,
        budget_seconds=BUDGET_SECONDS,
        chip=chip,
    )
    environment = environment_for(job, os.environ)
    async with runs.chip:
        choice = await a_device()
        if choice.held_by:
            return held(choice), None
        outcome = await run_on_device(job, truth, {**environment, **choice.variables})
        if choice.variables and isinstance(outcome.answer, Unopened) and not devices().holders:
            outcome = await run_on_device(job, truth, environment)
    answer = outcome.answer
    if isinstance(answer, Timed) and answer.timing is not None:
        wrong = await recheck(runs, subject.oracle, case, job.tolerance, outcome.repeats)
        if wrong is not None:
            answer = Timed(None, [wrong], reason="the numbers on the device changed while it was timed")
    seconds = time.monotonic() - began
    if not isinstance(answer, Timed):
        return no_answer(answer, case, seconds), None
    timing = with_roof(answer.timing, attempt, reference, case) if answer.timing else None
    findings = [*answer.findings, *(timed_findings(timing) if timing else [])]
    status: Status | None = "unavailable" if timing is None and not findings else None
    if any(found.code == "KT904" for found in findings):
        status = "error"  # the reference is at fault, and nobody's kernel
    return stage_result("device", findings, status=status, reason=answer.reason, seconds=seconds), timing


def no_answer(answer: Unopened | Broken | Lost, case: CaseSpec, seconds: float) -> StageResult:
    """What a runner without an answer means. Only what happened while the attempt ran for the first time is held
    against it: before, there was no chip, and afterwards, nobody knows whose fault it is."""
    if isinstance(answer, Lost) and answer.step == "attempt":
        message = f"The kernel did not come back from the chip: the device runner was at it when {answer.how}."
        found = finding("KT705", message, raw=answer.talk or None, case=case.name)
        return stage_result("device", [found], seconds=seconds)
    if isinstance(answer, Unopened) or (isinstance(answer, Lost) and answer.step == "open"):
        said, raw = (answer.message, None) if isinstance(answer, Unopened) else (answer.how, answer.talk or None)
        found = finding("KT709", f"The TPU could not be opened: {_short(said)}", severity="note", raw=raw)
        reason = "the TPU of this machine could not be opened; nothing was timed"
        return stage_result("device", [found], status="unavailable", reason=reason, seconds=seconds)
    said, raw = (answer.message, answer.traceback) if isinstance(answer, Broken) else (answer.how, answer.talk)
    found = finding("KT901", f"The device runner could not finish: {_short(said)}", raw=raw or None)
    return stage_result("device", [found], status="error", reason="the device runner failed", seconds=seconds)


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


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 300 else words[:299] + "…"
