"""What a chip has for one kernel, and what libtpu calls it."""

from __future__ import annotations

from typing import NamedTuple

from jax.experimental.pallas import tpu as pltpu

from tutor.jaxpr.compat import CHIPS

MIB = 1 << 20

SCOPED_VMEM: dict[str, int] = {"v4": 16 * MIB, "v5e": 16 * MIB, "v5p": 16 * MIB, "v6e": 32 * MIB, "tpu7x": 32 * MIB}
"""VMEM that one kernel may use unless it raises `vmem_limit_bytes`.

v5e, v5p: the limit in libtpu's own message E1001 for a kernel that is too large. v4: its message gives the whole VMEM,
16 MiB, as the limit. v6e: a kernel of 31.9 MiB compiles, one of 32.1 MiB does not. All seen with libtpu 0.0.50.1.
tpu7x: as v6e by measurements with 0.0.52; its edge was not tried with 0.0.50.1."""

VERSIONS = {
    "v4": pltpu.ChipVersion.TPU_V4,
    "v5e": pltpu.ChipVersion.TPU_V5E,
    "v5p": pltpu.ChipVersion.TPU_V5P,
    "v6e": pltpu.ChipVersion.TPU_V6E,
    "tpu7x": pltpu.ChipVersion.TPU_7X,
}

FOUR = {"v4": "v4:2x2x1", "v5e": "v5e:2x2", "v5p": "v5p:2x2x1", "v6e": "v6e:2x2", "tpu7x": "tpu7x:2x2x1"}
EIGHT = {"v4": "v4:2x2x1", "v5e": "v5e:2x4", "v5p": "v5p:2x2x2", "v6e": "v6e:2x4", "tpu7x": "tpu7x:2x2x1"}


class Memory(NamedTuple):
    """Bytes that a chip gives: VMEM of one kernel by default, VMEM and SMEM in all."""

    scoped_vmem: int
    vmem: int
    smem: int


def memory(chip: str) -> Memory:
    """The on-chip memory of one core of `chip`."""
    info = pltpu.get_tpu_info_for_chip(VERSIONS[chip], 1)
    return Memory(SCOPED_VMEM[chip], info.vmem_capacity_bytes, info.smem_capacity_bytes)


def topology(chip: str, devices: int) -> str | None:
    """The smallest topology of `chip` that has so many devices; None if it is more than eight."""
    if devices == 1:
        return CHIPS[chip].topology
    return FOUR[chip] if devices <= 4 else EIGHT[chip] if devices <= 8 else None
