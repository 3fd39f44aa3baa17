"""What a running check tells whoever watches it, in the order in which it becomes known."""

from __future__ import annotations

from dataclasses import dataclass

from tutor.protocol import CaseFacts, CaseResult, Kernel, MarkedJaxpr, StageName, StageResult, Verdict


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
    """The attempt traced: what its kernels do, and the jaxpr to show. `facts` are those of every case that traced."""

    kernels: list[Kernel]
    jaxpr: MarkedJaxpr
    facts: tuple[CaseFacts, ...] = ()


@dataclass(frozen=True)
class Lowered:
    """A case lowered for TPU: the Mosaic modules of its kernels as MLIR text with places.

    `path` is the attempt's file as the places name it."""

    case: str
    mosaic: str
    path: str


@dataclass(frozen=True)
class CheckFinished:
    """The last event of a check."""

    verdict: Verdict


Event = StageStarted | CaseFinished | StageFinished | KernelsTraced | Lowered | CheckFinished
