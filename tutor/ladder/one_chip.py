"""Of several chips in one machine the tutor takes one: which, and how the TPU runtime is told so.

A process that loads libtpu takes every chip of its machine, and in a larger slice it waits for the other machines,
unless `TPU_VISIBLE_CHIPS` and the two bounds say that it is to have one chip and no neighbours. JAX's own tests start
several processes on one host like that; here it could not be tried on such a machine. So where anything is unclear (the
user has set one of these variables, a chip has more than one file), nothing is set, and all chips count as one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tutor.ladder.chip import RUNNER, Devices, Holder

WHICH = ("TPU_VISIBLE_CHIPS", "TPU_VISIBLE_DEVICES")
THE_USERS_CHOICE = (
    *WHICH, "TPU_VISIBLE_DEVICE_PATHS", "TPU_CHIPS_PER_PROCESS_BOUNDS", "TPU_CHIPS_PER_HOST_BOUNDS",
    "TPU_PROCESS_BOUNDS", "TPU_HOST_BOUNDS",
)  # fmt: skip
ONE_FILE_A_CHIP = ("v4", "v5e", "v5p", "v6e")
"""A tpu7x has two device files a chip, and which belong together is written nowhere."""


class Choice(NamedTuple):
    """Variables for the runner, or, without any chip that is free, who holds them."""

    variables: dict[str, str]
    held_by: list[Holder]

    @property
    def ours(self) -> bool:
        """Whether only device runners of the tutor hold it: another check is timed, or was stopped just now."""
        return bool(self.held_by) and all(holder.module == RUNNER for holder in self.held_by)


def choose(found: Devices, chip: str | None, environment: Mapping[str, str]) -> Choice:
    """Which chip to take of those that are `found`; `chip` is their kind."""
    held = {path for holder in found.holders for path in holder.paths}
    if any(environment.get(name) for name in THE_USERS_CHOICE):
        mine = _named(found, next((environment[name] for name in WHICH if environment.get(name)), ""))
        return Choice({}, [holder for holder in found.holders if mine & set(holder.paths)])
    if len(found.paths) < 2 or chip not in ONE_FILE_A_CHIP:
        return Choice({}, found.holders)
    free = next((number for number, path in enumerate(found.paths) if path not in held), None)
    if free is None:
        return Choice({}, found.holders)
    bounds = {"TPU_CHIPS_PER_PROCESS_BOUNDS": "1,1,1", "TPU_PROCESS_BOUNDS": "1,1,1"}
    return Choice({"TPU_VISIBLE_CHIPS": str(free), **bounds}, [])


def _named(found: Devices, numbers: str) -> set[str]:
    """The files of the chips that the user has named; all of them where that cannot be told."""
    words = [word.strip() for word in numbers.split(",")]
    if not all(word.isdecimal() and int(word) < len(found.paths) for word in words):
        return set(found.paths)
    return {found.paths[int(word)] for word in words}
