"""One estimate for a program: the sum over its kernels, each replayed from its own dumps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from tutor.judge.compile.schedule.dump import Unreadable, read_program
from tutor.judge.compile.schedule.model import CORES
from tutor.judge.compile.schedule.replay import Replay, replay
from tutor.protocol import Kernel, Schedule
from tutor.workers.arrays import Array


@dataclass(frozen=True)
class Dumped:
    """A kernel's two dumps. `looped`: the program calls it in a loop, whose trip count is not known here."""

    schedule: str
    usage: str
    looped: bool = False


class NoEstimate(Exception):
    """Why there is no estimate, in words."""


def estimate(
    dumped: Sequence[Dumped | None], kernels: Sequence[Kernel], chip: str, values: Mapping[str, Array]
) -> Schedule:
    """The estimate for a program of these kernels. `NoEstimate` where a dump is missing or cannot be read.

    `values` are the exercise's integer inputs by name: they are given to the kernels that read them as scalars."""
    if not dumped:
        raise NoEstimate("no kernel is called")
    if len(dumped) != len(kernels):
        raise NoEstimate(f"the compiler saw {len(dumped)} calls of kernels, the trace {len(kernels)}")
    replays: list[Replay] = []
    for one, kernel in zip(dumped, kernels, strict=True):
        if one is None:
            raise NoEstimate(f"the compiler wrote no schedule of {kernel.name}")
        try:
            program = read_program(one.schedule, one.usage)
            replays.append(replay(program, _grid(kernel), CORES[chip], _scalars(kernel, values)))
        except Unreadable as unknown:
            raise NoEstimate(f"the schedule of {kernel.name} could not be read ({unknown})") from None
        except Exception as error:  # the text is no stable interface, and an estimate is never worth a failure
            raise NoEstimate(f"the schedule of {kernel.name} is of an unknown form ({type(error).__name__})") from None
    if not sum(one.total_us for one in replays) > 0:
        raise NoEstimate("the schedule is empty")
    notes = list(dict.fromkeys(note for one in replays for note in one.notes))
    if any(d.looped for d in dumped if d):
        notes.append("a kernel is called in a loop of the program; one call of it is counted")
    return _sum(replays, notes)


def _sum(replays: Sequence[Replay], notes: list[str]) -> Schedule:
    total = sum(one.total_us for one in replays)
    longest = max(replays, key=lambda one: one.total_us)
    units: dict[str, float] = {}
    for one in replays:
        for unit, share in one.units.items():
            units[unit] = units.get(unit, 0.0) + share * one.total_us / total
    return Schedule(
        total_us=total,
        per_step_us=longest.step_us if len(replays) == 1 else total / sum(one.steps for one in replays),
        bound=longest.bound,
        bytes_read=sum(one.bytes_in for one in replays),
        wait_share=sum(one.stall_us for one in replays) / total,
        spill_share=units.get("VSTORE:SPILL", 0.0),
        units={unit: round(share, 4) for unit, share in units.items()},
        notes=notes,
    )


def _grid(kernel: Kernel) -> list[int]:
    return [n for n in kernel.grid if n is not None]


def _scalars(kernel: Kernel, values: Mapping[str, Array]) -> dict[int, list[int]]:
    """The flat values of operands in SMEM that hold an exercise input, by the operand's position."""
    found: dict[int, list[int]] = {}
    outer = [operand for operand in kernel.operands if operand.role != "scratch"]
    for i, operand in enumerate(outer):
        array = values.get(operand.argument or "")
        if operand.space == "smem" and array is not None and array.size == prod(operand.shape):
            found[i] = [int(value) for value in array.ravel()]
    return found
