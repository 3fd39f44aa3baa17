"""What the profiler says that the device ran: one entry for each execution of a program, in order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from jax.profiler import ProfileData

MODULES = "XLA Modules"
"""On a TPU, the line of a device's plane that has one event for each execution of a program."""

_CORE = re.compile(r"/device:TPU:(\d+)")
"""A TensorCore's plane; `/device:TPU:0 SparseCore 1` is none."""
_NAME = re.compile(r"jit_(\w+?)(?:\(\d+\))?$")


class Called(NamedTuple):
    """One execution of the program `name` (without JAX's `jit_`)."""

    name: str
    start_ns: float
    us: float


def read_calls(serialized: bytes) -> list[Called]:
    """Every execution in a profile (`.xplane.pb`), in order of time; empty if it says none.

    A TPU has a line of its own for whole programs. A CPU only has its operations, each with the program and the run
    that it belongs to: there a program took from the start of its first operation to the end of its last."""
    planes = list(ProfileData.from_serialized_xspace(serialized).planes)
    cores = {int(matched[1]): p for p in planes if (matched := _CORE.fullmatch(p.name))}
    if cores:
        lines = (cores[number].lines for number in sorted(cores))
        ran = ([event for line in some if line.name == MODULES for event in line.events] for some in lines)
        events = next(filter(None, ran), [])  # one device is used: the first that ran anything
        found = [Called(_program(e.name), e.start_ns, e.duration_ns / 1e3) for e in events]
    else:
        found = _from_operations(line for p in planes if p.name == "/host:CPU" for line in p.lines)
    return sorted((one for one in found if one.us > 0), key=lambda one: one.start_ns)


def times_of(calls: Sequence[Called], expected: Sequence[str]) -> list[float] | None:
    """The times of the programs `expected`, which were called in this order; None unless the profile has exactly these.

    A profile that dropped an event would else give every later call the time of another one."""
    names = set(expected)
    ours = [one for one in calls if one.name in names]
    return [one.us for one in ours] if [one.name for one in ours] == list(expected) else None


def _from_operations(lines: Iterable[Any]) -> list[Called]:
    runs: dict[tuple[str, int], tuple[float, float]] = {}
    for line in lines:
        for event in line.events:
            said = dict(event.stats)
            if "hlo_module" in said and "run_id" in said:
                key = _program(str(said["hlo_module"])), int(said["run_id"])
                start, end = runs.get(key, (event.start_ns, event.end_ns))
                runs[key] = min(start, event.start_ns), max(end, event.end_ns)
    return [Called(name, start, (end - start) / 1e3) for (name, _), (start, end) in runs.items()]


def _program(module: str) -> str:
    matched = _NAME.match(module)
    return matched[1] if matched else module
