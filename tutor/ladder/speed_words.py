"""The speed estimate in words. It is always called an estimate, has two significant digits, and faster or slower is
said only from 10 % on."""

from __future__ import annotations

from collections.abc import Sequence

from tutor.protocol import Compilation, Schedule

NOTABLE = 1.1
BOUNDS = {
    "compute": "computing",
    "memory": "memory traffic",
    "DMA overhead": "the fixed cost of many small copies",
}
CONFIDENCE = {
    "v5e": "Estimates are usually within 15 % on v5e.",
    "v6e": "This is rough: few measured times of v6e are known.",
}
UNCHECKED = "This was not checked against hardware."


def estimate_lines(one: Compilation) -> list[str]:
    """The estimate of one compilation, beside the reference's; nothing if there is none."""
    mine, reference = one.schedule, one.reference
    if mine is None:
        return []
    lines = [f"Estimate for {one.chip}, case {one.case}: read from the compiler's schedule, no TPU was used."]
    lines.append(f"  yours      {_figures(mine)}")
    if reference is not None:
        lines.append(f"  reference  {_figures(reference)}")
    lines.append("  " + " ".join([*([_beside(mine, reference)] if reference else []), confidence(one.chip)]))
    lines += [f"  {note[0].upper()}{note[1:]}." for note in mine.notes]
    return lines


def short_estimate(compilations: Sequence[Compilation]) -> str | None:
    """`estimate for v5e: 1.3x the reference's time`: the first chip that has one; None if there is none."""
    for one in compilations:
        if one.schedule is not None:
            if one.reference is None:
                return f"estimate for {one.chip}: {duration(one.schedule.total_us)}"
            ratio = one.schedule.total_us / one.reference.total_us
            return f"estimate for {one.chip}: {ratio:.1f}x the reference's time"
    return None


def confidence(chip: str) -> str:
    """How far an estimate for this chip can be trusted."""
    return CONFIDENCE.get(chip, UNCHECKED)


def duration(us: float) -> str:
    """A time with two significant digits, in the unit that suits it."""
    value, unit = (us / 1000, "ms") if us >= 1000 else (us, "µs")
    return f"{float(f'{value:.2g}'):g} {unit}"


def _figures(schedule: Schedule) -> str:
    words = [
        f"{duration(schedule.total_us):>7}",
        f"{duration(schedule.per_step_us)} a step",
        f"limited by {BOUNDS.get(schedule.bound, schedule.bound)}",
        f"{_megabytes(schedule.bytes_read)} read",
    ]
    if schedule.wait_share >= 0.1:
        words.append(f"{schedule.wait_share:.0%} waiting")
    if schedule.spill_share >= 0.01:
        words.append(f"{schedule.spill_share:.0%} of stores are spills")
    return ", ".join(words)


def _beside(mine: Schedule, reference: Schedule) -> str:
    ratio = mine.total_us / reference.total_us
    if ratio >= NOTABLE:
        return f"About {ratio:.2g} times slower than the reference."
    if ratio <= 1 / NOTABLE:
        return f"About {1 / ratio:.2g} times faster than the reference."
    return "About as fast as the reference."


def _megabytes(count: int) -> str:
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{float(f'{count / unit:.3g}'):g} {name}"
    return f"{count} bytes"
