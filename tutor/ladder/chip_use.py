"""What `compile` found, chip by chip: the case that uses the most VMEM stands for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tutor.protocol import Compilation, Status


class ChipUse(NamedTuple):
    """One chip. `failed` are the cases that it refuses; `largest` is the one with the most VMEM, if any is known."""

    chip: str
    status: Status
    cases: int
    failed: list[str]
    largest: Compilation | None


def by_chip(compilations: Sequence[Compilation]) -> list[ChipUse]:
    """Every chip that was asked, in the order asked."""
    found: list[ChipUse] = []
    for chip in dict.fromkeys(one.chip for one in compilations):
        mine = [one for one in compilations if one.chip == chip]
        failed = [one.case for one in mine if one.status == "failed"]
        known = [one for one in mine if one.vmem_bytes is not None]
        status: Status = "failed" if failed else mine[0].status
        found.append(
            ChipUse(chip, status, len(mine), failed, max(known, key=lambda o: o.vmem_bytes or 0, default=None))
        )
    return found
