"""The references and other right answers of the built-in set, loaded and traced in this process."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tutor.protocol import CaseSpec
from tutor.sets import Exercise, builtin_root, load_set
from tutor.stage.attempt import load
from tutor.stage.tracing import Trace, trace
from tutor.wire import Attempt


@cache
def exercises() -> dict[str, Exercise]:
    """The kernel exercises, by slug."""
    return {e.slug: e for e in load_set(builtin_root()).exercises if e.kind == "kernel"}


def predictions() -> list[Exercise]:
    """The predict exercises."""
    return [e for e in load_set(builtin_root()).exercises if e.kind == "predict"]


def programs() -> list[tuple[str, Path]]:
    """Slug and file of every reference and `right_*`."""
    return [(slug, path) for slug, e in exercises().items() for path in [e.reference, *e.rights] if path is not None]


def name_of(value: object) -> str | None:
    """How a test names a program: `slug-file`."""
    return value.stem if isinstance(value, Path) else None


def check_cases(slug: str) -> list[CaseSpec]:
    """The public cases that check, the smallest arrays first."""
    cases = [case for case in exercises()[slug].cases() if case.role == "check"]
    return sorted(cases, key=elements)


def elements(case: CaseSpec) -> int:
    """How many elements the inputs of a case have."""
    total = 0
    for spec in case.inputs:
        count = 1
        for n in spec.shape:
            count *= n
        total += count
    return total


def traced(slug: str, path: Path, case: CaseSpec) -> Trace:
    """One program on one case."""
    source = path.read_bytes()
    entry = load(Attempt(source, str(path), exercises()[slug].entry))
    return trace(entry, case, source.decode(), str(path))
