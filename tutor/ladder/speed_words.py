"""The speed estimate in words. It is always called an estimate, has two significant digits, and faster or slower is
said only from 10 % on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tutor.findings import finding
from tutor.findings.numbers import two_digits
from tutor.protocol import Compilation, Finding, Reached, Schedule, Timing

NOTABLE = 1.1
IMPOSSIBLE = 0.95
"""Below this share of the physical floor a time is not believed; the rest is for the clock's own error."""
MOSTLY_CALLING = 0.25
"""From this share of a wall time on, what the call costs blurs the ratio."""
BOUNDS = {
    "compute": "computing",
    "memory": "memory traffic",
    "DMA overhead": "many small copies",
}
CONFIDENCE = {
    "v5e": "Estimates are usually within 15 % on v5e.",
    "v6e": "This is rough: few measured times of v6e are known.",
}
UNCHECKED = "This was not checked against hardware."
UNITS = {
    "MATMUL": "matrix unit", "MXU": "matrix unit", "MATPUSH": "its weights", "VALU": "vector unit",
    "XLU": "cross-lane unit", "EUP": "exp, log, 1/x", "VPOP": "results popped", "VLOAD": "vector loads",
    "VLOAD:FILL": "reloads", "VSTORE": "vector stores", "VSTORE:SPILL": "spills", "SALU": "scalar unit",
}  # fmt: skip
"""What the compiler's columns of unit slots are, in words."""
BUSY = 0.1
MOST_UNITS = 3


class Figures(NamedTuple):
    """One estimate as a table: what is said of the attempt and, in the last column, of the reference.

    `names` are the columns' heads; where both programs have the same figures there is one column for both."""

    title: str
    names: list[str]
    rows: list[tuple[str, list[str]]]
    verdict: str
    notes: list[str]


def estimate_figures(one: Compilation) -> Figures | None:
    """The estimate of one compilation, beside the reference's; None if there is none."""
    mine, reference = one.schedule, one.reference
    if mine is None:
        return None
    columns = [mine] if reference is None else [mine, reference]
    rows = _rows(columns)
    names = ["yours", "reference"][: len(columns)]
    if len(columns) == 2 and all(cells[0] == cells[1] for _, cells in rows):
        names, rows = ["both"], [(label, cells[:1]) for label, cells in rows]
    said = [confidence(one.chip)] if reference is None else [beside(mine, reference), confidence(one.chip)]
    return Figures(
        title=f"Speed estimate for {one.chip}, case {one.case}: the compiler's schedule, no TPU used",
        names=names,
        rows=rows,
        verdict=" ".join(said),
        notes=[f"{note[0].upper()}{note[1:]}." for note in mine.notes] + ([one.advice] if one.advice else []),
    )


def _rows(columns: Sequence[Schedule]) -> list[tuple[str, list[str]]]:
    rows = [
        ("total", [duration(one.total_us) for one in columns]),
        ("a grid step", [duration(one.per_step_us) for one in columns]),
        ("limited by", [BOUNDS.get(one.bound, one.bound) for one in columns]),
        ("read from HBM", [amount(one.bytes_read) for one in columns]),
        ("waiting", [percent(one.wait_share) for one in columns]),
    ]
    if any(one.spill_share >= 0.005 for one in columns):
        rows.append(("spilled stores", [percent(one.spill_share) for one in columns]))
    most: dict[str, float] = {}
    for one in columns:
        for unit, share in one.units.items():
            most[unit] = max(most.get(unit, 0.0), share)
    busiest = sorted((u for u, share in most.items() if share >= BUSY and u != "VSTORE:SPILL"), key=lambda u: -most[u])
    for unit in busiest[:MOST_UNITS]:
        rows.append((UNITS.get(unit, unit.lower()), [f"{percent(one.units.get(unit, 0.0))} busy" for one in columns]))
    return rows


def short_estimate(compilations: Sequence[Compilation]) -> str | None:
    """`v5e estimate 170 µs, about 2 times slower than the reference`: the first chip that has one; None if none."""
    for one in compilations:
        if one.schedule is not None:
            words = f"{one.chip} estimate {duration(one.schedule.total_us)}"
            if one.reference is None:
                return words
            said = beside(one.schedule, one.reference)
            return f"{words}, {said[0].lower()}{said[1:].removesuffix('.')}"
    return None


def beside(mine: Schedule, reference: Schedule, other: str = "the reference") -> str:
    """How the attempt's estimate compares with another one, as a sentence."""
    ratio = mine.total_us / reference.total_us
    if ratio >= NOTABLE:
        return f"About {two_digits(ratio)} times slower than {other}."
    if ratio <= 1 / NOTABLE:
        return f"About {two_digits(1 / ratio)} times faster than {other}."
    return f"About as fast as {other}."


def confidence(chip: str) -> str:
    """How far an estimate for this chip can be trusted."""
    return CONFIDENCE.get(chip, UNCHECKED)


def duration(us: float) -> str:
    """A time with two significant digits, in the unit that suits it."""
    value, unit = (us / 1000, "ms") if float(f"{us:.2g}") >= 1000 else (us, "µs")
    return f"{two_digits(value)} {unit}"


def percent(share: float) -> str:
    """A share as a whole number of percent."""
    return f"{share:.0%}".replace("%", " %")


def timing_lines(timing: Timing) -> list[str]:
    """What was measured on a device, and by which clock."""
    lines = [
        f"yours      {_measured(timing.attempt_us, timing.attempt_spread, timing.attempt)}",
        f"reference  {_measured(timing.reference_us, timing.reference_spread, timing.reference)}",
        f"ratio {timing.ratio:.2f}, between {timing.ratio_low:.2f} and {timing.ratio_high:.2f} (95 %), from "
        f"{len(timing.samples)} pairs on {timing.device_kind}",
    ]
    if timing.clock == "device":
        lines.append("times are the device's own, from the profiler")
    else:
        dispatch = "" if timing.dispatch_us is None else f", of which {timing.dispatch_us:.3g} µs are the call itself"
        lines.append(f"times are wall times of one call{dispatch}")
    if timing.inputs:
        lines.append(f"{timing.inputs}; {timing.rechecked} repeats were checked again afterwards")
    return lines + ([timing.advice] if timing.advice else [])


def timed_findings(timing: Timing) -> list[Finding]:
    """What is to be said of a timing: too fast to be true, slower than the reference, or too short to tell."""
    least, reference_least = timing.attempt.least_us, timing.reference.least_us
    if reference_least and timing.reference_us < IMPOSSIBLE * reference_least:
        message = (
            f"Even the reference seems to take {timing.reference_us:.3g} µs, although the chip needs at least "
            f"{reference_least:.3g} µs for its work. So the clock of this machine is not to be trusted."
        )
        return [finding("KT708", message, severity="note", case=timing.case or None)]
    found = []
    if least and timing.attempt_us < IMPOSSIBLE * least:
        message = (
            f"Your kernel seems to take {timing.attempt_us:.3g} µs, but on {timing.device_kind} its products and the "
            f"bytes that it must move take at least {least:.3g} µs. It cannot have done its work in each repeat."
        )
        found.append(finding("KT703", message, case=timing.case or None))
    elif timing.ratio_low >= NOTABLE:
        message = (
            f"On {timing.device_kind} your kernel takes {timing.attempt_us:.3g} µs, the reference "
            f"{timing.reference_us:.3g} µs: {timing.ratio:.2f} times as long."
        )
        found.append(finding("KT702", message, severity="warning", case=timing.case or None))
    if timing.dispatch_us and timing.dispatch_us >= MOSTLY_CALLING * min(timing.attempt_us, timing.reference_us):
        message = (
            f"Calling a program that does nothing takes {timing.dispatch_us:.3g} µs here, and that is in both times. "
            "So the true ratio is further from 1 than the one shown."
        )
        found.append(finding("KT707", message, severity="note", case=timing.case or None))
    return found


def _measured(us: float, spread: float | None, reached: Reached) -> str:
    words = [f"{us:.4g} µs" + (f" ±{spread / 2:.1%}" if spread is not None else "")]
    if reached.bytes_per_s is not None:
        words.append(f"{_rate(reached.bytes_per_s, 'B/s')}")
    if reached.flops_per_s is not None:
        words.append(f"{_rate(reached.flops_per_s, 'FLOP/s')}")
    if reached.roof_share is not None:
        words.append(f"{reached.roof_share:.0%} of what the chip can do")
    return ", ".join(words)


def _rate(value: float, unit: str) -> str:
    for power, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= power:
            return f"{value / power:.3g} {letter}{unit}"
    return f"{value:.3g} {unit}"


def amount(count: int) -> str:
    """Bytes with two or three significant digits: `1.5 MiB`."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{float(f'{count / unit:.3g}'):g} {name}"
    return f"{count} bytes"
