"""The jobs of the judge and of the compile server, which never run the attempt's Python."""

from __future__ import annotations

from tutor.protocol import CaseFacts, CaseSpec, Figures, Kernel, Limits, Record, Rules, ToleranceSpec
from tutor.wire.stage import ConfigValue, HazardMode


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
