"""The messages between the front and its workers, and how they are framed.

A frame is a 4-byte big-endian length and one msgpack document. After a `Start` come the bytes of its job, and after a
`Piece` bytes of the run that it names, which are frames again: a server, of which every run is a copy, hands jobs and
answers on and holds none of them. Nothing else crosses: no pickle, and arrays only as `.npz` bytes read with
`allow_pickle=False`. What comes from a stage child is decoded against these types, so a forged
or broken message is an error of that run and never an object.
"""

from __future__ import annotations

from typing import Literal

from tutor.protocol import (
    ArraySpec,
    CaseFacts,
    CaseResult,
    CaseSpec,
    Compilation,
    Figures,
    Finding,
    Kernel,
    Limits,
    MarkedJaxpr,
    Record,
    Rules,
    Tier,
    Timing,
    ToleranceSpec,
)

HazardMode = Literal["on_wait", "eager", "two_cores"]
HAZARD_MODES: tuple[HazardMode, ...] = ("on_wait", "eager", "two_cores")


# ---------------------------------------------------------------- front -> stage server


type ConfigValue = bool | int | float | str | None


class OwnFile(Record, frozen=True):
    """How a file that is inspected runs: with its own `make_args`, and JAX set as its `CONFIG` says.

    `import_from` are folders to import modules from, `folder` is the working directory; in the jail it is the run's.
    `package` is the package that the file is in, for its relative imports; empty if it is in none."""

    config: dict[str, ConfigValue] = {}
    import_from: list[str] = []
    folder: str | None = None
    package: str = ""


class Attempt(Record, frozen=True):
    """The learner's file as it was when the run began. `path` is only a name for messages and tracebacks.

    `own`: an inspected file. Its entry is called on the arrays of its `make_args`, flat and in order; whatever else
    `make_args` gives is the same in every call."""

    source: bytes
    path: str
    entry: str
    own: OwnFile | None = None


class PrepareJob(Record, frozen=True, tag="prepare"):
    """Load an inspected file, and run its `make_args` and `reference`."""

    attempt: Attempt
    limits: Limits = Limits()


class TraceJob(Record, frozen=True, tag="trace"):
    """Load the attempt and trace every case. `values` are `.npz` bytes of a case's integer inputs, for index maps.

    `whole`: the marked jaxpr is of the whole program with its index maps, not of the kernels alone."""

    attempt: Attempt
    cases: list[CaseSpec]
    values: dict[str, bytes] = {}
    limits: Limits = Limits()
    whole: bool = False
    chip: str = "v5e"


class ArtifactJob(Record, frozen=True, tag="artifacts"):
    """Export `platforms` artifacts of every case; each is sent as soon as it is made.

    A TPU artifact is made for each of `chips`; chips under which the program traces alike share one."""

    attempt: Attempt
    cases: list[CaseSpec]
    platforms: list[Literal["cpu", "tpu"]]
    limits: Limits = Limits()
    chips: tuple[str, ...] = ("v5e",)


class HazardJob(Record, frozen=True, tag="hazards"):
    """Run one case in the TPU simulator in one mode, on these inputs."""

    attempt: Attempt
    case: CaseSpec
    mode: HazardMode
    inputs: bytes
    limits: Limits = Limits()
    chip: str = "v5e"


class KernelsJob(Record, frozen=True, tag="kernels"):
    """Load the author's kernels of a predict exercise and trace the functions `names`, each on its own arguments.

    `file.entry` is not used. With a `mode`, the first of them is run in the simulator instead. `whole`: the marked
    jaxpr shows index maps too."""

    file: Attempt
    names: list[str]
    mode: HazardMode | None = None
    limits: Limits = Limits()
    whole: bool = False


# ---------------------------------------------------------------- front -> judge server


class OracleFile(Record, frozen=True):
    """An exercise's `oracle.py` as it was when the run began: a jailed judge sees no set. `path` is only a name."""

    source: bytes
    path: str


class InputsJob(Record, frozen=True, tag="inputs"):
    """Make the inputs of a case with `oracle.make_inputs`, from this seed."""

    oracle: OracleFile
    case: CaseSpec
    seed: int
    integers_only: bool = False
    limits: Limits = Limits()


class Given(Record, frozen=True):
    """Inputs and wanted outputs (`out0`, `out1`, …) of an inspected file, as `.npz` bytes, instead of an oracle's.

    `simulated`: there is no reference, and `expected` is what the simulator of TPU memory gave."""

    inputs: bytes
    expected: bytes | None
    config: dict[str, ConfigValue] = {}
    simulated: bool = False


class InterpretJob(Record, frozen=True, tag="interpret"):
    """Run a CPU artifact on fresh inputs for each seed and compare with `oracle.expected`, or with what is `given`."""

    oracle: OracleFile | None
    case: CaseSpec
    seeds: list[int]
    artifact: bytes
    tolerance: ToleranceSpec
    facts: CaseFacts | None = None
    limits: Limits = Limits()
    given: Given | None = None


class CompareJob(Record, frozen=True, tag="compare"):
    """Compare what the simulator returned for this seed with `oracle.expected`."""

    oracle: OracleFile | None
    case: CaseSpec
    seed: int
    mode: HazardMode
    outputs: bytes
    tolerance: ToleranceSpec
    facts: CaseFacts | None = None
    limits: Limits = Limits()
    given: Given | None = None


class StructureJob(Record, frozen=True, tag="structure"):
    """Judge the exercise's rules on the facts of every case. Without `rules` only the general ones. `reference`: the
    figures of the reference solution, where a rule compares with them."""

    oracle: OracleFile | None
    rules: Rules | None
    cases: list[CaseSpec]
    facts: list[CaseFacts]
    reference: list[Figures] = []
    limits: Limits = Limits()


class CompileJob(Record, frozen=True, tag="compile"):
    """Compile a TPU artifact for one chip, with no TPU. `kernels` are the facts that name operands and lines; `path`
    is the attempt's, as places in the artifact name it. `estimate`: the schedule is read too; then `values` are `.npz`
    bytes of the case's integer inputs, which may steer it. `sweep`: what cannot fit into VMEM is not even compiled."""

    artifact: bytes
    case: str
    chip: str
    path: str
    kernels: list[Kernel] = []
    limits: Limits = Limits()
    estimate: bool = False
    values: bytes = b""
    sweep: bool = False


class Witness(Record, frozen=True):
    """A case's TPU artifact, the facts of the case, and seeds for two different sets of inputs, the first of which
    `interpret` has as well.

    `cpu`: the artifact that `interpret` runs, where there is one. `values` are `.npz` bytes of the case's integer
    inputs, as in `TraceJob`: those that the facts rest on."""

    case: CaseSpec
    artifact: bytes
    facts: CaseFacts
    seeds: tuple[int, int]
    cpu: bytes | None = None
    values: bytes = b""


class WitnessJob(Record, frozen=True, tag="witness"):
    """Hold the TPU artifact of every case against its facts, try what it gives without its kernels, and run it.

    All of them in one run: most of what such a run costs is to start XLA. Without an oracle there are no inputs to try
    it on: then only the facts are compared. `outside`: the exercise lets something compute beside the kernel.
    `tolerance`: how far the numbers may be from the oracle's."""

    oracle: OracleFile | None
    witnesses: list[Witness]
    outside: bool = False
    tolerance: ToleranceSpec = ToleranceSpec()
    limits: Limits = Limits()


class ScanJob(Record, frozen=True, tag="scan"):
    """Look an artifact through before anything compiles it. `own`: it is of an inspected file."""

    artifact: bytes
    case: str
    own: bool = False
    limits: Limits = Limits()


class ExpectedJob(Record, frozen=True, tag="expected"):
    """Work out what is right for the inputs that `oracle.make_inputs` gives for this seed."""

    oracle: OracleFile
    case: CaseSpec
    seed: int
    limits: Limits = Limits()


class Repeated(Record, frozen=True, tag="repeated"):
    """A timed repeat, to be compared with the oracle's outputs: `.npz` bytes of its inputs, by name, and of what the
    attempt gave (`out0`, `out1`, …)."""

    number: int
    inputs: bytes
    outputs: bytes


class RepeatJob(Record, frozen=True, tag="repeat"):
    """Compare what a program gave in one timed repeat with `oracle.expected` of the inputs that the repeat had."""

    oracle: OracleFile
    case: CaseSpec
    repeat: Repeated
    tolerance: ToleranceSpec
    limits: Limits = Limits()


class ProofJob(Record, frozen=True, tag="proof"):
    """Try what a jail must deny. The front has laid out everything that is tried: a folder outside with a file in it,
    the user's home, servers on loopback ports and on UNIX sockets, and itself as a process to signal."""

    folder: str
    marker: str
    home: str
    tcp: int
    udp: int
    unix: str
    abstract: str
    front: int
    limits: Limits = Limits(wall_seconds=5.0)


Job = (
    ProofJob
    | PrepareJob
    | TraceJob
    | ArtifactJob
    | HazardJob
    | KernelsJob
    | InputsJob
    | ExpectedJob
    | RepeatJob
    | InterpretJob
    | CompareJob
    | StructureJob
    | WitnessJob
    | ScanJob
    | CompileJob
)


class Start(Record, frozen=True, tag="start"):
    """Run a job in a fork of its own: the next `size` bytes, as msgpack. Every answer carries `id`."""

    id: int
    size: int
    limits: Limits = Limits()


class Cancel(Record, frozen=True, tag="cancel"):
    """Kill the run `id` with all it started."""

    id: int


Request = Start | Cancel


# ---------------------------------------------------------------- worker child -> front


class Loaded(Record, frozen=True, tag="loaded"):
    """How loading the attempt went."""

    findings: list[Finding]
    seconds: float


class Prepared(Record, frozen=True, tag="prepared"):
    """The arguments of an inspected file: their names and types, and `.npz` bytes of all and of the integers only.

    `expected` is what `reference` gave (`out0`, `out1`, …), None if there is none."""

    inputs: list[ArraySpec]
    data: bytes
    integers: bytes
    expected: bytes | None
    tolerance: ToleranceSpec
    may_hang: bool
    seconds: float


class Traced(Record, frozen=True, tag="traced"):
    """How tracing one case went: either `facts` or findings with an error. `marked` only for the first case."""

    case: str
    findings: list[Finding]
    seconds: float
    facts: CaseFacts | None = None
    marked: MarkedJaxpr | None = None


class Artifact(Record, frozen=True, tag="artifact"):
    """One exported program, or why it could not be made. `unavailable`: nobody's fault, this judge cannot run it.

    `chips` are those that it is for. `jaxpr_sha256`: the program that it was made from, as in `CaseFacts`."""

    case: str
    platform: Literal["cpu", "tpu"]
    data: bytes | None
    findings: list[Finding]
    seconds: float
    mosaic: str | None = None
    unavailable: str | None = None
    chips: list[str] = []
    jaxpr_sha256: str = ""


class Simulated(Record, frozen=True, tag="simulated"):
    """What the simulator returned for one mode: `.npz` bytes (`out0`, `out1`, …) or findings, and what was printed."""

    case: str
    mode: HazardMode
    outputs: bytes | None
    findings: list[Finding]
    printed: str
    seconds: float
    unavailable: str | None = None
    jaxpr_sha256: str = ""


class Inputs(Record, frozen=True, tag="made"):
    """`.npz` bytes of a case's inputs, by name."""

    case: str
    data: bytes


class Expected(Record, frozen=True, tag="wanted"):
    """`.npz` bytes of the outputs that are right for a case's inputs (`out0`, `out1`, …)."""

    case: str
    data: bytes


class Judged(Record, frozen=True, tag="judged"):
    """The judge's word on one case of one stage."""

    case: str
    result: CaseResult
    findings: list[Finding]
    seconds: float


class Ruled(Record, frozen=True, tag="ruled"):
    """The judge's word on the structure."""

    findings: list[Finding]
    seconds: float


class Scanned(Record, frozen=True, tag="scanned"):
    """What the judge has against an artifact; nothing, if it may be compiled."""

    findings: list[Finding]


class Compiled(Record, frozen=True, tag="compiled"):
    """What came of compiling one case for one chip. `unavailable`: this compiler cannot do it, nobody's fault."""

    compilation: Compilation
    findings: list[Finding]
    seconds: float
    unavailable: str | None = None


class Broken(Record, frozen=True, tag="broken"):
    """A fault of ours inside a worker child."""

    message: str
    traceback: str
    findings: list[Finding] = []


class Denial(Record, frozen=True, tag="denial"):
    """What came of trying one thing that a jail must deny. `detail`: how it was refused, or what could be done."""

    what: str
    denied: bool
    detail: str


Body = (
    Denial
    | Scanned
    | Loaded
    | Prepared
    | Traced
    | Artifact
    | Simulated
    | Inputs
    | Expected
    | Judged
    | Ruled
    | Compiled
    | Broken
)


# ---------------------------------------------------------------- server -> front


class Hello(Record, frozen=True, tag="hello"):
    """The first frame of a server: it is ready, and what it runs on."""

    versions: dict[str, str | None]
    isolation: Tier = "C"


class Began(Record, frozen=True, tag="began"):
    """The run `id` has a child, whose process group this is."""

    id: int
    group: int


class Piece(Record, frozen=True, tag="piece"):
    """The next `size` bytes are from the child of run `id`: a part of its frames, each the msgpack of a `Body`.

    They may be anything."""

    id: int
    size: int


How = Literal["done", "wall", "memory", "cpu", "disk", "threads", "signal", "exit", "reply", "cancelled"]


class Ended(Record, frozen=True, tag="ended"):
    """The child of run `id` is gone. `how` says why; `printed` is the text it wrote to stdout and stderr. It took
    `seconds`. `busy` is for a run whose time was over: the share of the later half in which it worked or stood in the
    queue for a core, above 1 with several threads. One that waits for something else has a small share."""

    id: int
    how: How
    detail: str = ""
    printed: str = ""
    seconds: float = 0.0
    busy: float = 0.0


Reply = Hello | Began | Piece | Ended


# ---------------------------------------------------------------- front -> device runner


class DeviceJob(Record, frozen=True, tag="device"):
    """Time two artifacts of one case beside each other on the device of `platform`, after checking the numbers.

    After it come `sets` frames with `.npz` bytes of inputs, and one of the outputs (`out0`, `out1`, …) that are right
    for the first set: whoever opens the chip runs no Python of a set. `chip`: what the artifacts were made for.
    `profiler`: the profiler's time is used where it can be had. The reference has a tolerance of its own where its
    products are less precise."""

    case: CaseSpec
    attempt: bytes
    reference: bytes
    sets: int
    tolerance: ToleranceSpec
    platform: Literal["cpu", "tpu"] = "tpu"
    budget_seconds: float = 5.0
    profiler: bool = True
    reference_tolerance: ToleranceSpec | None = None
    chip: str | None = None


# ---------------------------------------------------------------- device runner -> front


Step = Literal["open", "attempt", "reference", "time"]


class Doing(Record, frozen=True, tag="doing"):
    """What the runner does next: it opens the device, runs one program for the first time, or times both. A runner
    that hangs or dies has said where."""

    step: Step


class Unopened(Record, frozen=True, tag="unopened"):
    """The device could not be opened, which is no fault of any kernel."""

    message: str


class Timed(Record, frozen=True, tag="timed"):
    """What the device runner measured, or why it did not. What it measured counts only once the judge has found the
    `Repeated` that were sent before it to be right."""

    timing: Timing | None
    findings: list[Finding]
    reason: str | None = None


DeviceAnswer = Doing | Repeated | Timed | Unopened | Broken
