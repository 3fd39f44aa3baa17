"""How fast the attempts at one exercise were, one after the other, beside the reference: a plot as rows of text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeGuard

from tutor.record import Speed
from tutor.tui.roofline_model import micros

type Tone = Literal["axis", "passed", "not passed", "reference"]
type Row = list[tuple[str, Tone]]

PASSED, NOT_PASSED, REFERENCE = "●", "○", "─"
LABEL = 8


def series(speeds: Sequence[Speed]) -> list[Speed]:
    """What is plotted: of one chip, case and kind of clock, oldest first. Measured times come before estimates, and of
    those the chip that was looked at last (the first one of that attempt)."""
    good = [one for one in speeds if 0 < one.attempt_us < math.inf]
    measured = [one for one in good if one.clock != "estimate"]
    if measured:
        last = measured[-1]
    elif good:
        last = next(one for one in good if one.attempt_id == good[-1].attempt_id)
    else:
        return []
    return [one for one in good if (one.chip, one.case, one.clock) == (last.chip, last.case, last.clock)]


def heading(shown: Sequence[Speed]) -> str:
    """`Estimate for v5e, case large: 900 µs, now 515 µs, reference 215 µs`."""
    if not shown:
        return ""
    last = shown[-1]
    how = f"Estimate for {last.chip}" if last.clock == "estimate" else f"Measured on {last.chip}"
    case = f", case {last.case}" if last.case else ""
    before = f"{micros(shown[0].attempt_us)}, now " if len(shown) > 1 else ""
    reference = f", reference {micros(last.reference_us)}" if usable(last.reference_us) else ""
    return f"{how}{case}: {before}{micros(last.attempt_us)}{reference}"


def plot(shown: Sequence[Speed], width: int, height: int) -> list[Row]:
    """At most `height` rows, `width` wide, the newest attempts at the right; nothing for fewer than two attempts."""
    across = max(4, width - LABEL - 1)
    shown = shown[-(across // 2) :]
    if len(shown) < 2 or height < 2:
        return []
    times = [us for one in shown for us in (one.attempt_us, one.reference_us) if usable(us)]
    low, high = math.log10(min(times)), math.log10(max(times))
    low, high = (low, high) if high - low > 0.02 else (low - 0.01, high + 0.01)

    def row(us: float) -> int:
        return round((high - math.log10(us)) / (high - low) * (height - 1))

    step = min(6, across // len(shown))
    cells: list[list[tuple[str, Tone]]] = [[(" ", "axis")] * across for _ in range(height)]
    for n, one in enumerate(shown):
        if usable(one.reference_us):
            for column in range(n * step, (n + 1) * step):
                cells[row(one.reference_us)][column] = (REFERENCE, "reference")
        at = n * step + step // 2
        cells[row(one.attempt_us)][at] = (PASSED, "passed") if one.passed else (NOT_PASSED, "not passed")
    marks = {0: micros(10**high), height - 1: micros(10**low)}
    return [[(f"{marks.get(number, ''):>{LABEL}}│", "axis"), *line] for number, line in enumerate(cells)]


def legend() -> Row:
    """What the signs are."""
    return [(PASSED, "passed"), (" passed  ", "axis"), (NOT_PASSED, "not passed"), (" not passed  ", "axis"),
            (REFERENCE, "reference"), (" reference", "axis")]  # fmt: skip


def usable(us: float | None) -> TypeGuard[float]:
    """Whether a time can be shown."""
    return us is not None and 0 < us < math.inf
