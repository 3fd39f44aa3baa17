"""What a run says: the answers of the stager, the judge and the compile server to their jobs."""

from __future__ import annotations

from typing import Literal

from tutor.protocol import ArraySpec, CaseFacts, CaseResult, Compilation, Finding, MarkedJaxpr, Record, ToleranceSpec
from tutor.wire.stage import HazardMode


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
