"""The records that cross processes and files.

Everything here is a frozen `msgspec.Struct` with plain fields, so the same record travels as msgpack between
processes, as JSON to `--json`, and into the history. This module imports nothing else of ours.

Units: sizes are bytes, times are seconds unless the name says `us`. Lines are 1-based, columns 0-based, as in `ast`.
"""

from __future__ import annotations

from typing import Literal

import msgspec

VERDICT_SCHEMA = "kerneltutor.verdict/1"
ERROR_SCHEMA = "kerneltutor.error/1"
SWEEP_SCHEMA = "kerneltutor.tune/1"
BENCH_SCHEMA = "kerneltutor.bench/1"

StageName = Literal["load", "trace", "interpret", "structure", "hazards", "lower", "compile", "device"]
Status = Literal["passed", "failed", "skipped", "unavailable", "error"]
Severity = Literal["error", "warning", "note"]
Role = Literal["prefetch", "input", "output", "scratch"]
Space = Literal["vmem", "smem", "any", "hbm", "semaphore"]
AccessKind = Literal["load", "store", "accumulate", "copy_start", "copy_wait", "semaphore"]
Tier = Literal["A", "B", "C"]
"""How a run is isolated: bubblewrap, seccomp, Landlock and limits; the same without bubblewrap; limits only."""
TIERS: tuple[Tier, ...] = ("A", "B", "C")

STAGES: tuple[StageName, ...] = ("load", "trace", "interpret", "structure", "hazards", "lower", "compile", "device")
PARENTS: dict[StageName, tuple[StageName, ...]] = {
    "load": (),
    "trace": ("load",),
    "interpret": ("trace",),
    "structure": ("trace",),
    "hazards": ("trace",),
    "lower": ("trace",),
    "compile": ("lower",),
    "device": ("interpret", "lower"),
}
QUESTIONS: dict[str, tuple[StageName, ...]] = {
    "Is the algebra right?": ("load", "trace", "interpret", "structure"),
    "Is the layout legal?": ("hazards", "lower", "compile"),
    "Is it fast?": ("device",),
}
PREDICT_STAGES: tuple[StageName, ...] = ("load", "structure")
PREDICT_QUESTIONS: dict[str, tuple[StageName, ...]] = {"Are the answers right?": PREDICT_STAGES}
"""The stages of a predict exercise, and their only question."""


class Record(msgspec.Struct, frozen=True):
    """Base of every record. Records are built with keywords."""


# ---------------------------------------------------------------- the verdict (FORMATS 3)


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


# ---------------------------------------------------------------- what `tune` prints


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


# ---------------------------------------------------------------- what `bench` prints


class Benched(Record, frozen=True):
    """One exercise on one chip: the reference, and the same function in plain JAX (`xla.py`), for the timing case.

    The reasons say why there is no estimate. `floor_us`: no program of this function takes less, by the chip's peak
    rates. The other `_us` are measured beside each other, on a TPU only."""

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


class Bench(Record, frozen=True, kw_only=True):
    """Every exercise that was asked for, on every chip. `complete` is false if it was interrupted."""

    schema: str = BENCH_SCHEMA
    set: str
    chips: list[str]
    rows: list[Benched]
    complete: bool = False
    seconds: float = 0.0


class CommandError(Record, frozen=True, kw_only=True):
    """What `--json` prints for an error of the command line."""

    schema: str = ERROR_SCHEMA
    code: str
    message: str
    hint: str | None = None


# ---------------------------------------------------------------- the marked jaxpr


class Span(Record, frozen=True):
    """A coloured piece of one line of jaxpr text: columns `start` to `end` of text line `line` (0-based).

    `role` says what it is: an access kind, or `primitive | variable | type | literal | param | comment`, or
    `space.vmem` and so on for a piece that names a memory space."""

    line: int
    start: int
    end: int
    role: str


class JaxprLine(Record, frozen=True):
    """What one line of jaxpr text stands for. `fold_end` is the last line of the region that folds under this one."""

    kind: AccessKind | None = None
    ref: str | None = None
    space: Space | None = None
    source_line: int | None = None
    source_column: int | None = None
    depth: int = 0
    kernel: int | None = None
    primitive: str | None = None
    fold_end: int | None = None


class MarkedJaxpr(Record, frozen=True):
    """A jaxpr as text, with one `JaxprLine` for each line of `text` and the spans to colour.

    `explanations` says one line about each primitive that occurs: what it does, on which unit, what it costs."""

    text: str
    lines: list[JaxprLine]
    spans: list[Span]
    explanations: dict[str, str] = {}


# ---------------------------------------------------------------- facts that the structure rules read


class Primitive(Record, frozen=True):
    """One equation, for rules about what may stand where. `count` is how often it stands on that line."""

    name: str
    line: int | None = None
    count: int = 1


class Dot(Record, frozen=True):
    """One matrix product inside a kernel."""

    lhs_dtype: str
    rhs_dtype: str
    result_dtype: str
    precision: str | None
    line: int | None


class Alias(Record, frozen=True):
    """One aliased pair of a kernel: `source` is an exercise input, `fresh` or None; `output` counts outputs from 0."""

    source: str | None
    operand: str
    output: int


class BlockWalk(Record, frozen=True):
    """Which block one operand has at every grid step, in program order; `blocks[step]` is what the index map gives.

    `block_shape` has 1 where a dimension is squeezed. `element[d]`: the index map counts elements there. `moved`: the
    entry's output has this output's elements at other indices (a transpose or reshape stands between)."""

    operand: str
    array_shape: list[int]
    block_shape: list[int]
    blocks: list[list[int]]
    output: int | None = None
    element: list[bool] = []
    moved: bool = False


class BlockLaw(Record, frozen=True):
    """Which block one operand has at every step of a grid that is too long to list, as a sum over the grid's axes.

    At the grid index (i0, i1, …) the index map gives `base[d]` plus, for each axis k, a share of `terms[d][k]`: if
    that has one number a, the share is a * ik, else it is `terms[d][k][ik]`. The rest is as in `BlockWalk`."""

    operand: str
    array_shape: list[int]
    block_shape: list[int]
    base: list[int]
    terms: list[list[list[int]]]
    output: int | None = None
    element: list[bool] = []
    moved: bool = False


class Staged(Record, frozen=True):
    """What the pipeline moves for one blocked operand over the whole grid: fetches, or write-backs of an output.

    A block whose index did not change does not move again. `least_…`: if each block that is visited moved once."""

    operand: str
    moves: int
    bytes: int
    least_moves: int
    least_bytes: int


class Operations(Record, frozen=True):
    """What one kernel works out over its whole grid, by rate, as in `Work`."""

    by_rate: dict[str, int]
    exact: bool


class KernelFacts(Record, frozen=True):
    """One kernel of one case: the public facts, and what only rules need.

    `output_arguments[i]` is the entry's output that output i flows to. `walks` are there for grids of at most 4,096
    steps whose index maps can be worked out; `laws` for longer ones (up to 2,000,000 steps) where the index map is a
    sum over the axes; `staged` for both. `vmem_limit_bytes` is what the kernel itself asks for."""

    kernel: Kernel
    inside: list[Primitive]
    dots: list[Dot]
    aliases: list[Alias]
    steps: int | None
    interpret: bool
    line: int | None
    output_arguments: list[int | None] = []
    walks: list[BlockWalk] = []
    vmem_limit_bytes: int | None = None
    laws: list[BlockLaw] = []
    staged: list[Staged] = []
    operations: Operations | None = None


class CaseFacts(Record, frozen=True):
    """What tracing one case found. `outside` are the primitives outside every kernel that are neither layout nor
    dtype changes; `suspects` are findings of the general rules; `modes` are the hazard modes this jaxpr needs; `doubts`
    are said only where the numbers are wrong."""

    case: str
    kernels: list[KernelFacts]
    outside: list[Primitive]
    outputs: list[ArraySpec]
    suspects: list[Finding] = []
    modes: list[str] = []
    jaxpr_sha256: str = ""
    doubts: list[Finding] = []

    @property
    def figures(self) -> Figures:
        """What a rule that is a ratio to the reference compares."""
        moved = [count for kernel in self.kernels for count in (kernel.kernel.bytes_in, kernel.kernel.bytes_out)]
        return Figures(self.case, _sum([kernel.steps for kernel in self.kernels]), _sum(moved))


class Figures(Record, frozen=True):
    """Grid steps of all kernels of a case, and bytes that they move between HBM and VMEM; None where not known.

    A student's copy of a set has those of the reference, and not the reference."""

    case: str
    steps: int | None
    bytes: int | None


def _sum(counts: list[int | None]) -> int | None:
    return None if any(count is None for count in counts) else sum(count or 0 for count in counts)


# ---------------------------------------------------------------- what is asked of the workers


class ArraySpec(Record, frozen=True):
    """A named abstract array."""

    name: str
    shape: list[int]
    dtype: str


class CaseSpec(Record, frozen=True):
    """One case with every size filled in. This is also the `case` that an oracle's functions are given."""

    name: str
    inputs: list[ArraySpec]
    outputs: list[ArraySpec]
    static: dict[str, int | float | str | bool]
    sizes: dict[str, int]
    seeds: int = 2
    role: Literal["check", "time"] = "check"
    hazard: bool = False
    hidden: bool = False


class ToleranceSpec(Record, frozen=True):
    """Bounds for floats; None means the default of the output's dtype (FORMATS 1). Integers are always exact.

    `rtol` and `atol` (both or neither, only from `TOL` of an inspected file) have NumPy's meaning, stand in place of
    the others, and hold for integers too."""

    rel_l2: float | None = None
    elementwise: float | None = None
    rtol: float | None = None
    atol: float | None = None


class Limits(Record, frozen=True):
    """What one child of a worker may use."""

    wall_seconds: float = 20.0
    cpu_seconds: int = 30
    data_bytes: int | None = None
    file_bytes: int = 64 << 20
    disk_bytes: int = 256 << 20
    threads: int | None = None
    output_bytes: int = 1 << 20
    reply_bytes: int = 256 << 20


# ---------------------------------------------------------------- the rules of an exercise (FORMATS 1)


class ScratchRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A scratch that some kernel must have."""

    space: Space
    dtype: str
    shape: tuple[int | str, ...] | None = None


class AliasRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An alias that must be there: `source` (written `from`) is an input or `fresh`, `to` an output."""

    source: str = msgspec.field(name="from")
    to: str


class Rules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[rules]`: what the structure of the attempt must be. Names are the exercise's inputs and outputs.

    `max_block` is in elements: a number, a size or keyword argument, or a product such as "bm*bn". In `max_loads` and
    `max_stores` the name `scratch` means every buffer of the kernel's own."""

    kernels: int | None = None
    outside: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    space: dict[str, Space] = {}
    scratch: tuple[ScratchRule, ...] = ()
    alias: tuple[AliasRule, ...] = ()
    max_loads: dict[str, int] = {}
    max_stores: dict[str, int] = {}
    min_copies: int | None = None
    dot_dtype: str | None = None
    max_steps_ratio: float | None = None
    max_bytes_ratio: float | None = None
    max_block: dict[str, int | str] = {}
    fetch_once: tuple[str, ...] = ()
