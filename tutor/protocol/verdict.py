"""The verdict on one attempt (FORMATS 3), and the error that a command prints instead."""

from __future__ import annotations

from typing import Literal

from tutor.protocol.base import (
    ERROR_SCHEMA,
    VERDICT_SCHEMA,
    AccessKind,
    Record,
    Role,
    Severity,
    Space,
    StageName,
    Status,
    Tier,
)


class Finding(Record, frozen=True):
    """One thing to say to the learner: a catalogue code, plain words, and the line to look at."""

    code: str
    severity: Severity
    title: str
    message: str
    raw: str | None = None
    line: int | None = None
    column: int | None = None
    ref: str | None = None
    case: str | None = None
    hint: str | None = None


UNREFERENCED = "KT208"
"""The note of `interpret` that there was nothing to compare with: its pass is no answer to what is right."""


class ErrorMap(Record, frozen=True):
    """Where one output is wrong, in at most 32 by 32 cells.

    The output (number `output` of the entry) is seen as a matrix: its last axis runs to the right, all others down.
    A cell covers `cell` = (rows, columns) elements of it, whole blocks where the blocks are known. `bad[r][c]` counts
    elements outside their bound, `worst[r][c]` is the largest absolute error; None where it is no finite number."""

    output: int
    cell: list[int]
    bad: list[list[int]]
    worst: list[list[float | None]]


class CaseError(Record, frozen=True):
    """How far a result is from what was expected. `block` and `grid_step` name the step that wrote `first_bad`."""

    relative_l2: float | None
    max_abs: float | None
    first_bad: list[int] | None = None
    block: list[int] | None = None
    grid_step: list[int] | None = None
    by_block: ErrorMap | None = None


class CaseResult(Record, frozen=True):
    """The outcome of one case in one stage."""

    name: str
    status: Status
    error: CaseError | None = None


class StageResult(Record, frozen=True):
    """The outcome of one stage. `reason` says why it was skipped, is unavailable, or had an error."""

    name: StageName
    status: Status
    seconds: float = 0.0
    reason: str | None = None
    findings: list[Finding] = []
    cases: list[CaseResult] = []


class Operand(Record, frozen=True):
    """One Ref of a kernel. `argument` is the exercise input that flows into it (or `fresh`); `alias` is, on an
    input, the position among the kernel's outputs that it shares its buffer with."""

    name: str
    argument: str | None
    role: Role
    space: Space
    block_shape: list[int | None] | None
    shape: list[int]
    dtype: str
    alias: int | None = None


class Access(Record, frozen=True):
    """One load, store, accumulate, copy or semaphore operation in a kernel body.

    `per_step` counts executions in one grid step if every enclosing branch is taken (`None`: a loop whose trip count
    depends on data). `bytes_per_step` is the size of what is touched, times `per_step`. A copy is an access of its
    source `ref`; `to` is its destination."""

    ref: str
    space: Space
    kind: AccessKind
    line: int | None
    column: int | None
    shape: list[int]
    dtype: str
    per_step: int | None
    branch: bool
    bytes_per_step: int | None
    to: str | None = None


class Kernel(Record, frozen=True):
    """What one kernel does, read from its jaxpr (FORMATS 3). Sums take the largest branch of each `cond`."""

    name: str
    primitive: str
    facts_case: str
    grid: list[int | None]
    operands: list[Operand]
    accesses: list[Access]
    loads: int | None
    stores: int | None
    accumulates: int | None
    copies: int | None
    bytes_in: int | None
    bytes_out: int | None


class Allocation(Record, frozen=True):
    """One piece of on-chip memory that the compiler gave to the kernel."""

    operand: str | None
    tag: str
    space: str
    bytes: int


class Work(Record, frozen=True):
    """What one run of a program does, over all its kernels, as read from its jaxpr.

    `operations` by the rate of the unit that does them (`roof.RATES`): two for each multiply-add of a product, one for
    each element that the vector unit works out. `moved`: bytes between HBM and the chip, None where data decides.
    `least`: bytes that a right program must move, each block of an input that is looked at and each output once.
    `exact`: every branch was decided; else the largest ones were counted."""

    operations: dict[str, int]
    moved: int | None
    least: int
    exact: bool


class Schedule(Record, frozen=True):
    """The speed estimate read from the compiler's own schedule."""

    total_us: float
    per_step_us: float
    bound: str
    bytes_read: int
    wait_share: float
    spill_share: float
    units: dict[str, float]
    notes: list[str]


class Compilation(Record, frozen=True):
    """One ahead-of-time compile of one case for one chip. `reference` is the reference solution's schedule for it;
    `advice` says what limits the attempt by its estimate, and what would help."""

    chip: str
    case: str
    status: Status
    vmem_bytes: int | None = None
    vmem_limit_bytes: int | None = None
    vmem_capacity: int | None = None
    allocations: list[Allocation] = []
    schedule: Schedule | None = None
    reference: Schedule | None = None
    work: Work | None = None
    reference_work: Work | None = None
    advice: str | None = None


class Reached(Record, frozen=True):
    """What one program reached on a device: per second, and as a share of what the chip can do at its best.

    `least_us`: no program of this work takes less. None where the jaxpr does not say."""

    bytes_per_s: float | None = None
    flops_per_s: float | None = None
    roof_share: float | None = None
    least_us: float | None = None


class Timing(Record, frozen=True):
    """Attempt beside reference on a device. Times are medians in microseconds; the ratio is attempt / reference, with
    a 95 % interval. `samples` has every timed pair.

    `clock`: `device` is the profiler's time of the program on the chip, `wall` the time of one call from the host, of
    which `dispatch_us` is what a program that does nothing takes. Spreads are the middle half of the times, as a share
    of the median. `rechecked`: timed repeats whose outputs were compared again afterwards; `inputs` says how each
    repeat got inputs of its own. `advice` says what limits the attempt, and what would help."""

    device_kind: str
    attempt_us: float
    reference_us: float
    ratio: float
    ratio_low: float
    ratio_high: float
    clock: Literal["device", "wall"]
    samples: list[tuple[float, float]]
    case: str = ""
    chip: str | None = None
    cores: int = 1
    attempt_spread: float | None = None
    reference_spread: float | None = None
    dispatch_us: float | None = None
    rechecked: int = 0
    inputs: str = ""
    work: Work | None = None
    reference_work: Work | None = None
    attempt: Reached = Reached()
    reference: Reached = Reached()
    advice: str | None = None


class Environment(Record, frozen=True):
    """Versions and isolation that a verdict was made with."""

    python: str
    jax: str
    jaxlib: str
    libtpu: str | None
    device: str | None
    isolation: Tier


class AttemptId(Record, frozen=True):
    """Which file was judged."""

    path: str
    sha256: str


class Verdict(Record, frozen=True, kw_only=True):
    """Everything that is known about one attempt: the screen, `--json`, reports and history all read this."""

    schema: str = VERDICT_SCHEMA
    set: str | None
    exercise: str | None
    attempt: AttemptId
    passed: bool
    score: float
    stages: list[StageResult]
    kernels: list[Kernel]
    compile: list[Compilation]
    timing: Timing | None
    output: str
    environment: Environment
    seconds: float


class CommandError(Record, frozen=True, kw_only=True):
    """What `--json` prints for an error of the command line."""

    schema: str = ERROR_SCHEMA
    code: str
    message: str
    hint: str | None = None
