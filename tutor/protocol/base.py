"""The names that all records use: stages, statuses, memory spaces; and the base of every record."""

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
