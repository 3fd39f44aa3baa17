"""Replaying the scalar program beside the DMA queue: bundles cost a cycle each, waits cost what the queue is behind."""

from __future__ import annotations

import math
import time
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tutor.judge.compile.schedule.dump import Program, Unreadable
from tutor.judge.compile.schedule.model import Core
from tutor.judge.compile.schedule.scalar import Runnable, runnable

BUDGET = 60_000
"""Basic blocks that are replayed; after that the steady state of the pipeline loop goes on in a straight line."""
SECONDS = 3.0
XLU_HEAVY = 0.3
IN_VMEM = "XLA keeps an operand in VMEM, so its HBM traffic is outside the kernel"


@dataclass
class Replay:
    """What came of one kernel. Times are in microseconds; `units` are the shares of each unit's slots, `called` counts
    the calls of parts."""

    total_us: float
    step_us: float
    steps: int
    stall_us: float
    queue_us: float
    bytes_in: int
    bytes_out: int
    copies: int
    bound: str
    units: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    called: dict[str, int] = field(default_factory=dict)


def replay(
    program: Program,
    grid: Sequence[int],
    core: Core,
    scalars: Mapping[int, Sequence[int]] | None = None,
    *,
    budget: int = BUDGET,
    parts: Mapping[str, float] | None = None,
) -> Replay:
    """Replay a kernel. `scalars` are the flat values of operands that lie in SMEM, by the operand's position; `parts`
    are the microseconds that a called part takes, by its name.

    `Unreadable` if the program does not come to an end in the time that is given."""
    code = runnable(program, core.delay_slots)
    machine = _Machine(program, code, core, scalars or {}, budget, parts or {})
    actions = (machine.load, machine.start, machine.wait, machine.enter, machine.call)
    cycles = code.run(machine.count, machine.memory, *actions)
    return machine.report(cycles, grid)


class _Machine:
    """The state that the generated function works on: SMEM, the DMA queue, and counts."""

    def __init__(
        self,
        program: Program,
        code: Runnable,
        core: Core,
        scalars: Mapping[int, Sequence[int]],
        budget: int,
        parts: Mapping[str, float],
    ) -> None:
        self._program, self._code, self._core, self._scalars, self._budget = program, code, core, scalars, budget
        self.count = [0] * len(code.starts)
        self._parts = parts
        self._called: dict[str, int] = {}
        self.memory: dict[int, int] = {1 << 20: 0}  # allocation 0 holds the core's number
        self._flags: dict[int, deque[list[float]]] = defaultdict(deque)
        self._unknown: set[tuple[int, int]] = set()  # ranges of SMEM that hold operands whose values are not given
        self._marks: list[tuple[float, float]] = []
        self._moved = {True: 0, False: 0}
        self._free = self._busy = self._stall = 0.0
        self._copies = self._visits = self._missing = 0
        self._end = time.monotonic() + SECONDS
        self._first, self._last = max(code.loops, key=lambda loop: loop[1] - loop[0], default=(-1, -1))
        self._trips = self._trip_count()

    def _trip_count(self) -> int:
        """Iterations of the pipeline loop, the longest one, from the constant of its exit test."""
        inner = [loop for loop in self._code.loops if self._first < loop[0] and loop[1] <= self._last]
        for bundle, limit in self._program.exit_limits.items():
            if self._first <= bundle <= self._last and not any(a <= bundle <= b for a, b in inner):
                return limit
        return 0

    # ------------------------------------------------------------ called by the generated function

    def load(self, address: int, steers: bool) -> int:
        if steers and address not in self.memory:
            self._missing += any(first <= address < end for first, end in self._unknown)
        return self.memory.get(address, 0)

    def start(self, t: float, kind: str, source: int, size: int, destination: int, flag: int, piece: int = 0) -> None:
        if kind.endswith("to_smem") and source:
            operand = (source // (source & -source) - 1) // 2
            values = self._scalars.get(operand)
            if values is None:
                self._unknown.add((destination, destination + size * self._core.granule // 4))
            else:
                self.memory.update({destination + i: int(value) for i, value in enumerate(values)})
        count = size * self._core.granule
        write = kind.endswith("to_hbm")
        cost = self._core.copy_cycles(count, write=write)
        self._free = max(self._free, t) + cost
        self._busy += cost
        self._copies += 1
        self._moved[write] += count
        self._flags[flag].append([size, self._free])

    def wait(self, t: float, flag: int, size: int) -> float:
        began, queue = t, self._flags[flag]
        while size > 0 and queue:
            t = max(t, queue[0][1])
            take = int(min(size, queue[0][0]))
            size -= take
            queue[0][0] -= take
            if not queue[0][0]:
                queue.popleft()
        self._stall += t - began
        return t

    def call(self, t: float, part: str) -> float:
        self._called[part] = self._called.get(part, 0) + 1
        return t + self._parts.get(part, 0.0) * self._core.clock_ghz * 1e3

    def enter(self, block: int, t: float) -> bool:
        self._visits += 1
        if self._code.starts[block] == self._first:
            self._marks.append((t, self._stall))
        if self._trips > len(self._marks) >= 8:
            return self._visits > self._budget
        if self._visits & 4095 == 0 and time.monotonic() > self._end:
            raise Unreadable("the replay takes too long")
        return False

    # ------------------------------------------------------------ afterwards

    def report(self, cycles: float, grid: Sequence[int]) -> Replay:
        marks, n, scale, notes = self._marks, len(self._marks), 1.0, []
        if self._visits > self._budget and self._trips > n >= 8:
            scale = self._trips / n
            steady = (marks[-1][0] - marks[n // 2][0]) / (n - 1 - n // 2)
            cycles = marks[-1][0] + steady * (self._trips - n)
            notes.append(f"{n} of {self._trips} pipeline iterations were replayed, the rest is in proportion")
        if self._missing:
            notes.append("control flow depends on SMEM data that is not known here; it was taken as 0")
        if self._code.unknown:
            names = ", ".join(sorted(self._code.unknown))
            notes.append(f"control flow depends on operations that are not modelled: {names}")
        if self._program.in_vmem:
            notes.append(IN_VMEM)
        units = self._units(scale)
        if units.get("XLU", 0) > XLU_HEAVY:
            notes.append("much cross-lane work: such kernels measured up to 1.5 times slower than this estimate")
        us = 1e-3 / self._core.clock_ghz
        stall, busy, copies = self._stall * scale, self._busy * scale, round(self._copies * scale)
        steps = max(1, math.prod(grid))
        return Replay(
            total_us=cycles * us,
            step_us=self._per_step(cycles, steps, bool(grid)) * us,
            steps=steps,
            stall_us=stall * us,
            queue_us=busy * us,
            bytes_in=round(self._moved[False] * scale),
            bytes_out=round(self._moved[True] * scale),
            copies=copies,
            bound=_bound(cycles, stall, busy, copies * self._core.dma_ns * self._core.clock_ghz),
            units=units,
            notes=notes,
            called=self._called,
        )

    def _per_step(self, cycles: float, steps: int, has_grid: bool) -> float:
        """The steady state: the middle half of the pipeline loop."""
        n = len(self._marks)
        if not has_grid or n <= 8:
            return cycles / steps
        quarter = n // 4
        return (self._marks[-1 - quarter][0] - self._marks[quarter][0]) / (n - 1 - 2 * quarter)

    def _units(self, scale: float) -> dict[str, float]:
        program, starts = self._program, self._code.starts
        issued, used = 0.0, [0.0] * len(program.units)
        for k, (first, end) in enumerate(zip(starts, [*starts[1:], len(program.bundles)], strict=True)):
            issued += self.count[k] * (end - first) * scale
            for row in program.usage[first:end]:
                used = [u + x * self.count[k] * scale for u, x in zip(used, row, strict=True)]
        if not issued:
            return {}
        return {
            unit: x / capacity / issued
            for unit, x, capacity in zip(program.units, used, program.capacity, strict=True)
            if x and capacity
        }


def _bound(cycles: float, stall: float, busy: float, fixed: float) -> str:
    """What limits the kernel: compute if it hardly waits, else the fixed costs of many copies, else memory."""
    if stall < 0.1 * cycles:
        return "compute"
    return "DMA overhead" if fixed > busy / 3 else "memory"
