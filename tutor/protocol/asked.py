"""What is asked of the workers: arrays, cases, tolerances, limits, and the rules of an exercise (FORMATS 1)."""

from __future__ import annotations

from typing import Literal

import msgspec

from tutor.protocol.base import Record, Space


class ArraySpec(Record, frozen=True):
    """A named abstract array."""

    name: str
    shape: list[int]
    dtype: str


class CaseSpec(Record, frozen=True):
    """One case with every size filled in. This is also the `case` that an oracle's functions are given."""

    name: str
    inputs: list[ArraySpec]
    outputs: list[ArraySpec]
    static: dict[str, int | float | str | bool]
    sizes: dict[str, int]
    seeds: int = 2
    role: Literal["check", "time"] = "check"
    hazard: bool = False
    hidden: bool = False


class ToleranceSpec(Record, frozen=True):
    """Bounds for floats; None means the default of the output's dtype (FORMATS 1). Integers are always exact.

    `rtol` and `atol` (both or neither, only from `TOL` of an inspected file) have NumPy's meaning, stand in place of
    the others, and hold for integers too."""

    rel_l2: float | None = None
    elementwise: float | None = None
    rtol: float | None = None
    atol: float | None = None


class Limits(Record, frozen=True):
    """What one child of a worker may use."""

    wall_seconds: float = 20.0
    cpu_seconds: int = 30
    data_bytes: int | None = None
    file_bytes: int = 64 << 20
    disk_bytes: int = 256 << 20
    threads: int | None = None
    output_bytes: int = 1 << 20
    reply_bytes: int = 256 << 20


class ScratchRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A scratch that some kernel must have."""

    space: Space
    dtype: str
    shape: tuple[int | str, ...] | None = None


class AliasRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An alias that must be there: `source` (written `from`) is an input or `fresh`, `to` an output."""

    source: str = msgspec.field(name="from")
    to: str


class Rules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[rules]`: what the structure of the attempt must be. Names are the exercise's inputs and outputs.

    `max_block` is in elements: a number, a size or keyword argument, or a product such as "bm*bn". In `max_loads` and
    `max_stores` the name `scratch` means every buffer of the kernel's own."""

    kernels: int | None = None
    outside: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    space: dict[str, Space] = {}
    scratch: tuple[ScratchRule, ...] = ()
    alias: tuple[AliasRule, ...] = ()
    max_loads: dict[str, int] = {}
    max_stores: dict[str, int] = {}
    min_copies: int | None = None
    dot_dtype: str | None = None
    max_steps_ratio: float | None = None
    max_bytes_ratio: float | None = None
    max_block: dict[str, int | str] = {}
    fetch_once: tuple[str, ...] = ()
