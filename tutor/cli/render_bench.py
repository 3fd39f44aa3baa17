"""The table of the references as plain terminal text: a line an exercise, one table a chip."""

from __future__ import annotations

from collections.abc import Iterator

from tutor.cli.text import cut, one_line, paint, plain, table, wrap
from tutor.findings.numbers import two_digits
from tutor.ladder.speed_words import BOUNDS, NOTABLE, confidence, duration
from tutor.protocol import Bench, Benched, Schedule


def render_bench(found: Bench, *, width: int = 80, color: bool = False) -> str:
    """All chips, each with how far its figures can be trusted."""
    lines: list[str] = []
    for chip in found.chips:
        rows = [row for row in found.rows if row.chip == chip]
        also = "; what was measured is named so" if any(map(_is_measured, rows)) else ""
        heading = f"{chip}: kernel and plain JAX, estimates from the compiler's schedule{also}"
        lines += [paint(line, "bold", color) for line in wrap(heading, width)]
        lines += [f"  {cut(line, width - 2)}" for line in _table(rows)]
        lines += [*wrap(confidence(chip), width, "  "), *_reasons(rows, width), ""]
    words = (
        "Floor: what the chip's peak rates allow at best. Plain JAX is the set's xla.py; how estimates of XLA's own "
        "programs compare with hardware was not checked."
    )
    lines += wrap(words, width)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _table(rows: list[Benched]) -> list[str]:
    measured = any(map(_is_measured, rows))
    times_of = ["kernel est.", "JAX est.", "measured", "JAX meas."] if measured else ["kernel", "plain JAX"]
    lines = [["exercise", "floor", *times_of, "the kernel is", "limited by"]]
    for row in rows:
        times = [_measured(row.floor_us), _time(row.reference), _time(row.xla)]
        times += [_measured(row.reference_us), _measured(row.xla_us)] if measured else []
        limit = BOUNDS.get(row.reference.bound, row.reference.bound) if row.reference else ""
        how = "" if not measured else ", measured" if _is_measured(row) else ", est."
        lines.append([plain(row.exercise), *times, _beside(row) + how, limit])
    return table(lines, right=[*range(1, 2 + len(times_of))])


def _is_measured(row: Benched) -> bool:
    return row.reference_us is not None and row.xla_us is not None


def _time(one: Schedule | None) -> str:
    return duration(one.total_us) if one is not None else "-"


def _measured(us: float | None) -> str:
    return duration(us) if us is not None else "-"


def _beside(row: Benched) -> str:
    """How the kernel compares with plain JAX: two measured times where there are any, else two estimates."""
    if row.reference_us is not None and row.xla_us is not None:
        ratio = row.xla_us / row.reference_us
    elif row.reference is not None and row.xla is not None:
        ratio = row.xla.total_us / row.reference.total_us
    else:
        return "no estimate"
    if ratio >= NOTABLE:
        return f"{two_digits(ratio)} times faster"
    return f"{two_digits(1 / ratio)} times slower" if ratio <= 1 / NOTABLE else "about as fast"


def _reasons(rows: list[Benched], width: int) -> Iterator[str]:
    """Why some have no estimate, and some were not measured."""
    for why in dict.fromkeys(row.measured_reason for row in rows):
        if why is not None:
            names = [row.exercise for row in rows if row.measured_reason == why]
            whose = "" if len(names) == len(rows) else f"{', '.join(names)}: "
            yield from wrap(f"{whose}not measured: {one_line(why)}", width, "  ")
    for row in rows:
        for name, why in (("kernel", row.reference_reason), ("plain JAX", row.xla_reason)):
            if why is not None:
                yield from wrap(f"{row.exercise}, {name}: {one_line(why)}", width, "  ")
