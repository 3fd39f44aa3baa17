"""From a verdict to a status and points: pure functions."""

from __future__ import annotations

from collections.abc import Iterator

from tutor.grade.records import Flag, GradeStatus
from tutor.protocol import STAGES, Finding, Record, StageName, Status, Verdict

MAX_SCORE = 1.0
"""Every exercise counts alike; how the stages of one weigh is the exercise's own `[points]`."""
DECEIT = ("KT390", "KT392", "KT393", "KT810", "KT811", "KT812", "KT815", "KT830")
"""The two witnesses disagree, the stages were given different programs, the program for TPU computes another thing, the
artifact was refused before it was run, the jail refused something, a forged answer. Some of it may be an honest
mistake: somebody has to look."""
UNCONFIRMED = ("KT391", "KT394", "KT397")
"""Notes that there was something that the second witness, or the run of the program for TPU, could not confirm."""
NOT_THE_KERNEL = ("KT111", "KT302", "KT380", "KT381")
"""The numbers may be right, but no kernel made them."""
LOST = ("KT106", "KT107", "KT108", "KT514", "KT813", "KT814")
"""A run that ended before it had answered."""
OUT_OF_TIME = ("KT106", "KT206", "KT406", "KT412", "KT609")


class Judged(Record, frozen=True):
    """What a verdict is worth, 0 to 1, before lateness and overrides."""

    status: GradeStatus
    share: float
    flags: list[Flag]


def judge(verdict: Verdict, reference: Verdict | None = None) -> Judged:
    """The status and the share of the points.

    The share is the verdict's own score: the weight of the passed stages over that of all that are not unavailable.
    But nothing is won by stages alone: without one right case of `interpret`, made by a kernel, there are no points (a
    file that does nothing loads, traces and lowers as well). A predict exercise is right or it is not.

    `reference`: the verdict on the reference. A stage that can judge that one and not this attempt is not left out: a
    kernel could be made so that its mistake is never asked about."""
    errors = [found for found in _findings(verdict) if found.severity == "error"]
    status = {stage.name: stage.status for stage in verdict.stages}
    if strange := [found for found in errors if found.code in DECEIT]:
        return Judged("suspicious", 0.0, _as_flags(strange))
    if "error" in status.values():
        return Judged("infra_error", 0.0, [])
    judged = _by_stages(verdict, errors, status)
    if judged.share and (against := [*_lost(verdict), *_hidden_from_hazards(verdict)]):
        return Judged("unconfirmed", 0.0, [*judged.flags, *_as_flags(against)])
    evaded = [name for name in left_open(verdict) if reference is not None and name not in left_open(reference)]
    if not evaded or judged.share == 0:
        return judged
    message = f"Here {' and '.join(evaded)} can judge the reference, and could not judge this attempt: no points."
    return Judged("unconfirmed", 0.0, [*judged.flags, Flag("KT870", message, _reason(verdict, evaded[0]))])


def left_open(verdict: Verdict) -> list[StageName]:
    """The stages that could not answer, or not all of it: the machine may lack something, or the attempt evades them.
    Where the attempt does not lower, that is why, and it counts for itself."""
    lowered = any(stage.name == "lower" and stage.status == "passed" for stage in verdict.stages)
    return [
        stage.name
        for stage in verdict.stages
        if stage.name != "device"
        and (stage.status == "unavailable" or (lowered and any(found.code in UNCONFIRMED for found in stage.findings)))
    ]


def _by_stages(verdict: Verdict, errors: list[Finding], status: dict[StageName, Status]) -> Judged:
    numbers = status.get("interpret")
    if not any(value in ("failed", "skipped") for value in status.values()):
        if numbers == "unavailable":
            message = "Interpret mode cannot run this kernel, so its numbers were not confirmed: no points."
            return Judged("unconfirmed", 0.0, [Flag("KT832", message, _reason(verdict, "interpret"))])
        return Judged("passed", verdict.score, [])
    beside = [found for found in errors if found.code in NOT_THE_KERNEL]
    flags = _as_flags(beside)
    if _idle(verdict):
        return Judged("failed", 0.0, [*flags, Flag("KT842", "No kernel of it writes anything.")])
    real = numbers is not None and not beside and (numbers == "passed" or _one_right_case(verdict))
    share = verdict.score if real else 0.0
    if share and "passed" not in (status.get("lower"), status.get("hazards")):
        # The program that `interpret` ran came from the attempt's process, and there is nothing to hold it against.
        message = "The kernel neither lowers nor passes in the simulator, so nothing confirms its numbers: no points."
        return Judged("unconfirmed", 0.0, [*flags, Flag("KT832", message, _reason(verdict, "lower"))])
    if slow := [found for found in errors if found.code in OUT_OF_TIME]:
        return Judged("timeout", share, [*flags, *_as_flags(slow)])
    return Judged("partial" if share > 0 else "failed", share, flags)


def _hidden_from_hazards(verdict: Verdict) -> Iterator[Finding]:
    """What the judge's own run found of memory where the simulator found nothing: that runs in the attempt's process,
    and in few cases."""
    if any(stage.name == "hazards" and stage.status == "failed" for stage in verdict.stages):
        return iter(())
    return (found for found in _findings(verdict) if found.code == "KT395")


def _lost(verdict: Verdict) -> Iterator[Finding]:
    """That the judging of the structure did not come to its end, so that nothing holds the programs together."""
    for stage in verdict.stages:
        if stage.name == "structure":
            yield from (found for found in stage.findings if found.severity == "error" and found.code in LOST)


def _idle(verdict: Verdict) -> bool:
    """Whether no kernel stores or copies anything, so that its output is what it was given."""
    writes = ("store", "accumulate", "copy_start")
    accesses = [access for kernel in verdict.kernels for access in kernel.accesses]
    return bool(verdict.kernels) and not any(access.kind in writes for access in accesses)


def _one_right_case(verdict: Verdict) -> bool:
    return any(case.status == "passed" for stage in verdict.stages if stage.name == "interpret" for case in stage.cases)


def not_asked(verdict: Verdict | None) -> list[Flag]:
    """What a run did not ask, so that nobody takes silence for a pass. Remarks: they change nothing."""
    asked = {stage.name: stage for stage in verdict.stages} if verdict else {}
    device = asked.get("device")
    flags = [] if device and device.status in ("passed", "failed") else [Flag("KT800", "Not run on a TPU.")]
    if "interpret" not in asked:
        return flags  # no file, or a predict exercise: there is no more to ask
    for name in STAGES[:-1]:
        if name not in asked:
            flags.append(Flag("KT801", f"The stage {name} was not asked."))
        elif asked[name].status == "unavailable":
            flags.append(Flag("KT801", f"The stage {name} could not answer here.", asked[name].reason))
    return flags


def _findings(verdict: Verdict) -> Iterator[Finding]:
    for stage in verdict.stages:
        yield from stage.findings


def _as_flags(findings: list[Finding]) -> list[Flag]:
    """Findings as flags: the title is for everybody, the rest is evidence. Each code once."""
    once = {found.code: found for found in reversed(findings)}
    return [
        Flag(code, f"{found.title}.", f"case {found.case}: {found.message}" if found.case else found.message)
        for code, found in sorted(once.items())
    ]


def _reason(verdict: Verdict, name: StageName) -> str | None:
    return next((stage.reason for stage in verdict.stages if stage.name == name), None)
