"""What `set.toml`, `exercise.toml` and `hidden.toml` may say (FORMATS 1), as records.

The records hold what was written; what the words mean together (sizes that exist, names that agree) is checked in
`checks`. Names of sizes and products of them stay text here and become numbers in `shapes`.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from tutor.protocol import Rules, StageName

Dim = int | str
Number = int | float | bool | str


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of every table: unknown keys are errors."""


class Reveal(Table, frozen=True, kw_only=True):
    """When `solution` may show the reference: after a pass, after `tries` attempts, from `date` on, or never."""

    when: Literal["pass", "tries", "date", "never"] = "pass"
    tries: int | None = None
    date: str | None = None


class LateDates(Table, frozen=True, kw_only=True):
    """`[late.exercise.SLUG]`: an exercise's own dates, in place of the set's."""

    due: str | None = None
    closes: str | None = None


class Late(Table, frozen=True, kw_only=True):
    """`[late]`: what a late submission costs (`late`). Dates have a time zone; `grace` is a span such as "15m"."""

    due: str | None = None
    closes: str | None = None
    grace: str = "0s"
    percent_per_day: float = 0.0
    late_days: int = 0
    exercise: dict[str, LateDates] = {}


class SetManifest(Table, frozen=True, kw_only=True):
    """`set.toml`. `chapters` gives the folders of `exercises/` and their order."""

    format: Literal[1]
    id: str
    title: str
    jax: str = ">=0.12,<0.13"
    chapters: tuple[str, ...]
    chips: tuple[str, ...] = ("v5e", "v6e")
    reveal: Reveal = Reveal()
    late: Late = Late()


class ArrayEntry(Table, frozen=True, kw_only=True):
    """`[[input]]` and `[[output]]`: a shape of numbers, size names, or products such as "a*b"."""

    name: str
    shape: tuple[Dim, ...]
    dtype: str


class CaseEntry(Table, frozen=True, kw_only=True):
    """`[[case]]`: the sizes of one call, and what the case is for."""

    name: str
    sizes: dict[str, int] = {}
    static: dict[str, Number] = {}
    seeds: int = 2
    role: Literal["check", "time"] = "check"
    hazard: bool = False


class Tolerance(Table, frozen=True, kw_only=True):
    """`[tolerance]`: bounds for float outputs; a key left out means the default of the output's dtype."""

    rel_l2: float | None = None
    elementwise: float | None = None


class Diagnosis(Table, frozen=True, kw_only=True):
    """`[[diagnosis]]`: this exercise's own words for a finding."""

    when: str
    say: str


class Question(Table, frozen=True, kw_only=True):
    """`[[question]]` of a predict exercise: `ask` is what the learner reads, `quantity` what is computed."""

    id: str
    kernel: str
    ask: str
    quantity: str


class ExerciseManifest(Table, frozen=True, kw_only=True):
    """`exercise.toml`. Which keys a kernel or a predict exercise must have is checked in `checks`."""

    format: Literal[1]
    kind: Literal["kernel", "predict"]
    slug: str
    title: str
    summary: str = ""
    entry: str = ""
    concepts: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    starter: str = ""
    chips: tuple[str, ...] | None = None
    inputs: tuple[ArrayEntry, ...] = msgspec.field(name="input", default=())
    outputs: tuple[ArrayEntry, ...] = msgspec.field(name="output", default=())
    static: dict[str, Number] = {}
    cases: tuple[CaseEntry, ...] = msgspec.field(name="case", default=())
    tolerance: Tolerance = Tolerance()
    rules: Rules = Rules()
    diagnosis: tuple[Diagnosis, ...] = ()
    points: dict[StageName, float] = {}
    questions: tuple[Question, ...] = msgspec.field(name="question", default=())


class HiddenManifest(Table, frozen=True, kw_only=True):
    """`hidden.toml`: nothing but cases."""

    cases: tuple[CaseEntry, ...] = msgspec.field(name="case", default=())
