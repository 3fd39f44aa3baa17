"""The messages between the front and its workers, and how they are framed.

A frame is a 4-byte big-endian length and one msgpack document. After a `Start` come the bytes of its job, and after a
`Piece` bytes of the run that it names, which are frames again: a server, of which every run is a copy, hands jobs and
answers on and holds none of them. Nothing else crosses: no pickle, and arrays only as `.npz` bytes read with
`allow_pickle=False`. What comes from a stage child is decoded against these types, so a forged
or broken message is an error of that run and never an object.
"""

from __future__ import annotations

from tutor.wire.answers import (
    Artifact,
    Body,
    Broken,
    Compiled,
    Denial,
    Expected,
    Inputs,
    Judged,
    Loaded,
    Prepared,
    Ruled,
    Scanned,
    Simulated,
    Traced,
)
from tutor.wire.device import DeviceAnswer, DeviceJob, Doing, Step, Timed, Unopened
from tutor.wire.judge import (
    CompareJob,
    CompileJob,
    ExpectedJob,
    Given,
    InputsJob,
    InterpretJob,
    OracleFile,
    Repeated,
    RepeatJob,
    ScanJob,
    StructureJob,
    Witness,
    WitnessJob,
)
from tutor.wire.server import Began, Cancel, Ended, Hello, How, Job, Piece, ProofJob, Reply, Request, Start
from tutor.wire.stage import (
    HAZARD_MODES,
    ArtifactJob,
    Attempt,
    ConfigValue,
    HazardJob,
    HazardMode,
    KernelsJob,
    OwnFile,
    PrepareJob,
    TraceJob,
)

__all__ = [
    "HAZARD_MODES",
    "Artifact",
    "ArtifactJob",
    "Attempt",
    "Began",
    "Body",
    "Broken",
    "Cancel",
    "CompareJob",
    "CompileJob",
    "Compiled",
    "ConfigValue",
    "Denial",
    "DeviceAnswer",
    "DeviceJob",
    "Doing",
    "Ended",
    "Expected",
    "ExpectedJob",
    "Given",
    "HazardJob",
    "HazardMode",
    "Hello",
    "How",
    "Inputs",
    "InputsJob",
    "InterpretJob",
    "Job",
    "Judged",
    "KernelsJob",
    "Loaded",
    "OracleFile",
    "OwnFile",
    "Piece",
    "PrepareJob",
    "Prepared",
    "ProofJob",
    "RepeatJob",
    "Repeated",
    "Reply",
    "Request",
    "Ruled",
    "ScanJob",
    "Scanned",
    "Simulated",
    "Start",
    "Step",
    "StructureJob",
    "Timed",
    "TraceJob",
    "Traced",
    "Unopened",
    "Witness",
    "WitnessJob",
]
