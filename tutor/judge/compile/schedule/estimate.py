"""One estimate for a program: its kernels, what XLA does around them, and the program that calls them in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from tutor.findings.numbers import two_digits
from tutor.judge.compile.schedule.dump import Program, Unreadable, read_program
from tutor.judge.compile.schedule.model import CORES, Core
from tutor.judge.compile.schedule.replay import IN_VMEM, Replay, replay
from tutor.protocol import Kernel, Schedule
from tutor.workers.arrays import Array

NOTABLE_OUTSIDE = 0.02
"""What XLA does around the kernels is said where it takes more than this share of the time."""


@dataclass(frozen=True)
class Dumped:
    """The two dumps of one part. `name` is what the program around it calls it, without a number for a kernel.
    `looped`: the program calls it in a loop, whose trip count is not known here."""

    schedule: str
    usage: str
    looped: bool = False
    name: str = ""


@dataclass(frozen=True)
class Around:
    """The program that calls the parts, and the parts that are no kernels, by name."""

    top: Dumped
    parts: Mapping[str, Dumped]


class NoEstimate(Exception):
    """Why there is no estimate, in words."""


def estimate(
    dumped: Sequence[Dumped | None],
    kernels: Sequence[Kernel],
    chip: str,
    values: Mapping[str, Array],
    around: Around | None = None,
) -> Schedule:
    """The estimate for a program of these kernels. `NoEstimate` where a dump is missing or cannot be read.

    `values` are the exercise's integer inputs by name: they are given to the kernels that read them as scalars. Without
    `around`, or where that cannot be read, only the kernels count."""
    if not dumped and around is None:
        raise NoEstimate("no kernel is called")
    if len(dumped) != len(kernels):
        raise NoEstimate(f"the compiler saw {len(dumped)} calls of kernels, the trace {len(kernels)}")
    core = CORES[chip]
    replays: list[Replay] = []
    for one, kernel in zip(dumped, kernels, strict=True):
        if one is None:
            raise NoEstimate(f"the compiler wrote no schedule of {kernel.name}")
        if None in kernel.grid:
            raise NoEstimate(f"how many grid steps {kernel.name} takes is only known when it runs")
        replays.append(_replayed(one, kernel.name, core, _grid(kernel), _scalars(kernel, values)))
    if not sum(one.total_us for one in replays) > 0 and replays:
        raise NoEstimate("the schedule is empty")
    names = [one.name for one in dumped if one is not None]
    try:
        if around is not None:
            return _whole(dict(zip(names, replays, strict=True)), around, core)
    except NoEstimate:
        if not replays:
            raise
    notes = _notes(replays)
    if any(d.looped for d in dumped if d):
        notes.append("a kernel is called in a loop of the program; one call of it is counted")
    return _sum([(one, 1) for one in replays], sum(one.total_us for one in replays), notes)


def _replayed(
    one: Dumped, name: str, core: Core, grid: Sequence[int] = (), scalars: Mapping[int, Sequence[int]] | None = None
) -> Replay:
    try:
        return replay(read_program(one.schedule, one.usage), grid, core, scalars)
    except Unreadable as unknown:
        raise NoEstimate(f"the schedule of {name} could not be read ({unknown})") from None
    except Exception as error:  # the text is no stable interface, and an estimate is never worth a failure
        raise NoEstimate(f"the schedule of {name} is of an unknown form ({type(error).__name__})") from None


def _whole(kernels: Mapping[str, Replay], around: Around, core: Core) -> Schedule:
    """The whole program: the parts when they are called, and copies beside them as far as nobody waits for these."""
    parts = {name: _replayed(part, name, core) for name, part in around.parts.items()}

    def part(call: str) -> Replay | None:
        return parts.get(call) or kernels.get(call.partition(".")[0])

    program = _straight(around.top)
    called = {op.args[0] for bundle in program.bundles for op in bundle if op.code == "inlined_call"}
    times = {name: one.total_us for name in called if (one := part(name)) is not None}
    top = replay(program, [], core, parts=times)
    missing = sorted(name for name in top.called if part(name) is None)
    uncalled = [name for name in kernels if not any(call.partition(".")[0] == name for call in top.called)]
    if missing or uncalled or not top.called:
        raise NoEstimate(f"of {', '.join([*missing, *uncalled]) or 'the program'} there is no schedule")
    ran = [(one, count) for name, count in top.called.items() if (one := part(name)) is not None]
    inside = sum(one.total_us * count for one, count in ran if any(one is other for other in kernels.values()))
    notes = [note for note in _notes([one for one, _ in ran]) if note != IN_VMEM]
    if kernels and top.total_us - inside > NOTABLE_OUTSIDE * top.total_us:
        notes.append(f"{two_digits(top.total_us - inside)} µs of it are spent outside the kernel, by XLA")
    return _sum(ran, top.total_us, notes, list(kernels.values()), top)


def _straight(top: Dumped) -> Program:
    """The program around the kernels without its branches: they ask whether it was loaded and what was fetched ahead.

    `NoEstimate` if it has a loop, whose trip count nobody knows."""
    try:
        program = read_program(top.schedule, top.usage)
    except Exception as error:
        raise NoEstimate(f"the program around the kernels is of an unknown form ({type(error).__name__})") from None
    for i, bundle in enumerate(program.bundles):
        if any(op.code == "sbr.rel" and int(op.args[0]) <= i for op in bundle):
            raise NoEstimate("the program calls its parts in a loop, and how often is not known")
    return replace(program, bundles=[[op for op in bundle if op.code != "sbr.rel"] for bundle in program.bundles])


def _notes(replays: Sequence[Replay]) -> list[str]:
    return list(dict.fromkeys(note for one in replays for note in one.notes))


def _sum(
    ran: Sequence[tuple[Replay, int]],
    total: float,
    notes: list[str],
    kernels: Sequence[Replay] = (),
    top: Replay | None = None,
) -> Schedule:
    """The figures of all parts that ran, each so many times, and of `top` that called them. Steps and what limits are
    those of the kernels, if there are any."""
    stepping = list(kernels) or [one for one, _ in ran]
    longest = max(stepping, key=lambda one: one.total_us)
    units: dict[str, float] = {}
    for one, count in ran:
        for unit, share in one.units.items():
            units[unit] = units.get(unit, 0.0) + share * count * one.total_us / total
    all_of_it = [*ran, *([(top, 1)] if top else [])]
    return Schedule(
        total_us=total,
        per_step_us=longest.step_us
        if len(stepping) == 1
        else sum(one.total_us for one in stepping) / sum(one.steps for one in stepping),
        bound=longest.bound,
        bytes_read=sum(one.bytes_in * count for one, count in all_of_it),
        wait_share=sum(one.stall_us * count for one, count in all_of_it) / total,
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
