"""What is said to a server and by it around its runs: which job, and how a run ends."""

from __future__ import annotations

from typing import Literal

from tutor.protocol import Limits, Record, Tier
from tutor.wire.judge import (
    CompareJob,
    CompileJob,
    ExpectedJob,
    InputsJob,
    InterpretJob,
    RepeatJob,
    ScanJob,
    StructureJob,
    WitnessJob,
)
from tutor.wire.stage import ArtifactJob, HazardJob, KernelsJob, PrepareJob, TraceJob


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
