"""Small records and figures of the compile findings."""

from __future__ import annotations

from typing import NamedTuple

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


class Words(NamedTuple):
    """What to say about one refusal. `line` counts only where the compiler names no place."""

    code: str
    message: str
    hint: str
    ref: str | None = None
    line: int | None = None


def size(count: int | float, beside: int | float | None = None) -> str:
    """`16.1 MiB`: bytes as a learner counts them; enough digits that `count` does not read like `beside`."""
    unit, name = (GIB, "GiB") if count >= GIB else (MIB, "MiB") if count >= MIB else (KIB, "KiB")
    if count < KIB:
        return f"{count:.0f} bytes"
    for digits in (1, 2, 3):
        text = f"{count / unit:.{digits}f}"
        if beside is None or beside == count or f"{beside / unit:.{digits}f}" != text:
            break
    return f"{text.rstrip('0').rstrip('.')} {name}"


def number(text: str) -> float:
    """Bytes of a figure as the compiler writes it: `16.12M`."""
    units = {"K": KIB, "M": MIB, "G": GIB}
    return float(text[:-1]) * units[text[-1]] if text[-1] in units else float(text)
