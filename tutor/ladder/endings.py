"""What the end of a worker's child means to the learner, when it did not simply finish."""

from __future__ import annotations

import re

from tutor.findings import finding
from tutor.protocol import Finding, StageName
from tutor.wire import Ended

_SLOW = {"load": "KT106", "trace": "KT106", "interpret": "KT206", "hazards": "KT412", "lower": "KT106"}
_HUNGRY = {"load": "KT107", "trace": "KT107", "interpret": "KT207", "hazards": "KT413", "lower": "KT107"}
_DOING = {
    "load": "while the file was being loaded",
    "trace": "while the function was being traced",
    "interpret": "while the kernel was being run in interpret mode",
    "structure": "while the structure was being judged",
    "hazards": "while the kernel was being simulated",
    "lower": "while the kernel was being lowered for TPU",
}


_LAST_WORDS = re.compile(r"^Stack \(most recent call first\):\n  File", re.MULTILINE)


def without_last_words(printed: str) -> str:
    """What the attempt printed, without what the tutor's own alarm wrote when the time was up."""
    alarm = _LAST_WORDS.search(printed)
    return printed if alarm is None else printed[: alarm.start()]


def stuck_at(printed: str, path: str) -> int | None:
    """The line of `path` that was running when the time was up, innermost first; None if that was not said."""
    alarm = _LAST_WORDS.search(printed)
    found = alarm and re.search(rf'^  File "{re.escape(path)}", line (\d+)', printed[alarm.start() :], re.MULTILINE)
    return int(found[1]) if found else None


def ending(ended: Ended, stage: StageName, *, wall_seconds: float, case: str | None = None, path: str = "") -> Finding:
    """A finding for a child that ended before it had answered. `path` is the attempt's, to say where it was stuck."""
    doing = _DOING.get(stage, f"in {stage}")
    if ended.how in ("wall", "cpu"):
        message = f"There was no result after {wall_seconds:.0f} seconds {doing}, so the run was stopped."
        hint = "Look for a loop that never ends, or for work on far larger arrays than the kernel needs."
        line = stuck_at(ended.printed, path)
        return finding(_SLOW.get(stage, "KT106"), message, line=line, case=case, hint=hint)
    if ended.how == "memory":
        message = f"More than about 2 GiB of memory was asked for {doing}, so the run was stopped."
        return finding(_HUNGRY.get(stage, "KT107"), message, case=case, raw=ended.printed[-2000:] or None)
    if ended.how == "threads":
        message = f"More threads were started {doing} than a run may have, so the run was stopped."
        return finding("KT813", message, case=case, hint="A kernel needs no threads of its own. Remove them.")
    if ended.how == "disk":
        message = f"More was written to disk {doing} than a run may write, so the run was stopped."
        return finding("KT814", message, case=case, hint="A kernel writes no files. Remove what writes them.")
    if ended.how == "reply":
        return finding("KT514", f"The run sent more data than is allowed {doing}.", case=case)
    how = {
        "exit": f"It left with exit code {ended.detail}",
        "signal": f"It was ended by signal {ended.detail}",
        "done": "It left before it was done",
    }.get(ended.how, "It ended")
    message = f"The program ended itself {doing}. {how}."
    hint = "A call such as os._exit, sys.exit or os.abort ends the whole program. Remove it."
    return finding("KT108", message, case=case, raw=ended.printed[-2000:] or None, hint=hint)
