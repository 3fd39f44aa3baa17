"""What `tune` and `bench` print."""

from __future__ import annotations

from typing import Literal

from tutor.protocol.base import BENCH_SCHEMA, SWEEP_SCHEMA, Record
from tutor.protocol.verdict import AttemptId, Schedule

type TunedStatus = Literal["passed", "overflow", "refused", "unavailable"]


class Tuned(Record, frozen=True):
    """One choice of block sizes on one chip. `overflow`: it needs more VMEM than the kernel may have; `refused`: it
    does not trace, lower or compile. `reason` says why there is no estimate. `device_us` is measured, on a TPU only."""

    chip: str
    values: dict[str, int]
    status: TunedStatus
    code: str | None = None
    reason: str | None = None
    vmem_bytes: int | None = None
    vmem_limit_bytes: int | None = None
    schedule: Schedule | None = None
    device_us: float | None = None


class Sweep(Record, frozen=True, kw_only=True):
    """A sweep of block sizes as far as it got. `own` are the values that the timing case calls the attempt with,
    `defaults` those that its function has; `planned` counts choices times chips, `possible` the choices before they
    were cut down to `--max`. `reference` is by chip, `notes` say why something could not be measured. `complete` is
    false for a sweep that was interrupted."""

    schema: str = SWEEP_SCHEMA
    set: str | None
    exercise: str | None
    attempt: AttemptId
    case: str
    chips: list[str]
    own: dict[str, int]
    defaults: dict[str, int]
    parameters: dict[str, list[int]]
    planned: int
    possible: int
    tried: list[Tuned] = []
    reference: dict[str, Schedule] = {}
    notes: list[str] = []
    complete: bool = False
    seconds: float = 0.0


class Benched(Record, frozen=True):
    """One exercise on one chip: the reference, and the same function in plain JAX (`xla.py`), for the timing case.

    The schedules are estimates, and the reasons say why there is none. `floor_us`: no program of this function takes
    less, by the chip's peak rates. The other `_us` are measured beside each other, on a TPU only;
    `measured_reason` says why they were not."""

    exercise: str
    chip: str
    case: str
    reference: Schedule | None = None
    xla: Schedule | None = None
    reference_reason: str | None = None
    xla_reason: str | None = None
    floor_us: float | None = None
    reference_us: float | None = None
    xla_us: float | None = None
    measured_reason: str | None = None


class Bench(Record, frozen=True, kw_only=True):
    """Every exercise that was asked for, on every chip. `complete` is false if it was interrupted."""

    schema: str = BENCH_SCHEMA
    set: str
    chips: list[str]
    rows: list[Benched]
    complete: bool = False
    seconds: float = 0.0
