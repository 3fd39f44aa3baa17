"""The files that libtpu wrote for one compile, found by the name of the part that they are about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tutor.jaxpr.compat import TpuCall
from tutor.judge.compile.schedule.estimate import Around, Dumped
from tutor.judge.compile.settings import SCHEDULE, UNITS

TOP = "TLP"
"""What the program around all parts is called."""
_KERNEL = re.compile(r"kt\d+(\.\d+)?")


def dump_text(folder: Path, kernel: str, label: str) -> str | None:
    """The text of a dump of the kernel `ktN`; None if the compiler did not get there."""
    return _read(sorted(folder.glob(f"*-{kernel}.*-{label}.txt")), label)


def kernels_dumped(folder: Path, calls: Sequence[TpuCall]) -> list[Dumped | None]:
    """The schedules of the kernels, in the order of their calls."""
    dumped: list[Dumped | None] = []
    for call in calls:
        schedule, usage = dump_text(folder, call.name, SCHEDULE), dump_text(folder, call.name, UNITS)
        dumped.append(Dumped(schedule, usage, call.looped, call.name) if schedule and usage else None)
    return dumped


def around(folder: Path) -> Around | None:
    """The program around the kernels, and every other part of it; None if the compiler wrote none."""
    schedules, usages = _by_part(folder, SCHEDULE), _by_part(folder, UNITS)
    parts = {
        name: Dumped(path.read_text(errors="replace"), usages[name].read_text(errors="replace"), name=name)
        for name, path in schedules.items()
        if name in usages and not _KERNEL.fullmatch(name)
    }
    top = parts.pop(TOP, None)
    return None if top is None else Around(top, parts)


def _by_part(folder: Path, label: str) -> dict[str, Path]:
    """The dumps of one kind. What begins with `<` is run once when the program is loaded."""
    pattern = re.compile(rf"\d+-([^<].*)-\d+-{re.escape(label)}\.txt")
    return {match[1]: path for path in folder.iterdir() if (match := pattern.fullmatch(path.name))}


def _read(paths: Sequence[Path], label: str) -> str | None:
    """The first file whose name has a number before the label: other files end in the same words."""
    for path in paths:
        if path.name.removesuffix(f"-{label}.txt").rpartition("-")[2].isdigit():
            return path.read_text(errors="replace")
    return None
