"""What a running check tells whoever watches it, in the order in which it becomes known."""

from __future__ import annotations

from dataclasses import dataclass

from tutor.protocol import CaseResult, Kernel, MarkedJaxpr, StageName, StageResult, Verdict


@dataclass(frozen=True)
class StageStarted:
    """A stage has begun."""

    name: StageName


@dataclass(frozen=True)
class CaseFinished:
    """One case of a stage that still runs is known."""

    stage: StageName
    case: CaseResult


@dataclass(frozen=True)
class StageFinished:
    """A stage has ended, or will not run; `result` says which."""

    result: StageResult


@dataclass(frozen=True)
class KernelsTraced:
    """The attempt traced: what its kernels do, and the jaxpr to show."""

    kernels: list[Kernel]
    jaxpr: MarkedJaxpr


@dataclass(frozen=True)
class CheckFinished:
    """The last event of a check."""

    verdict: Verdict


Event = StageStarted | CaseFinished | StageFinished | KernelsTraced | CheckFinished
