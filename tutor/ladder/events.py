"""What a running check tells its reader, as it happens."""

from __future__ import annotations

from tutor.protocol import Kernel, MarkedJaxpr, Record, StageName, StageResult, Verdict


class StageStarted(Record, frozen=True):
    """A stage began."""

    name: StageName


class StageFinished(Record, frozen=True):
    """A stage ended, with all it found."""

    result: StageResult


class KernelsTraced(Record, frozen=True):
    """The attempt traced: its kernels' facts and the marked jaxpr, of the first case."""

    kernels: list[Kernel]
    jaxpr: MarkedJaxpr


class CheckFinished(Record, frozen=True):
    """The check is over; the verdict holds everything."""

    verdict: Verdict


Event = StageStarted | StageFinished | KernelsTraced | CheckFinished
