"""What a chip can do at its best, and how near a program comes to it: the arithmetic of a roofline.

A program that moves `bytes` and does `flops` takes at least as long as the memory needs for the one and its unit for
the other. All times are in microseconds, all rates per second; sizes are bytes of HBM. This module imports nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

RATES = ("bf16", "int8", "int4", "fp8", "f32", "vector")
"""What work is counted by. The first four are products of these dtypes on the matrix unit, `f32` products at precision
HIGHEST, `vector` everything that is done element by element."""

F32_PASSES = 6
"""A product at HIGHEST is six passes of bf16 (each factor is split into three bf16 parts). At default precision a
float32 product is one pass, so it counts as `bf16`."""

LANES = 8 * 128
ALUS = 4
"""The vector unit has 8 by 128 lanes of 4 ALUs each: 4,096 operations a cycle (measured on v5e: 97 % of that)."""


class Chip(NamedTuple):
    """One TensorCore of a chip. `kind` is JAX's name for a device of it.

    Bandwidth and product rates are those of `pltpu.get_tpu_info_for_chip`, but for the bandwidth of v5p, where it has
    11 % less than the 2,765 GB/s a chip that Google publishes. A rate of 0 means that the unit does not know the dtype,
    and then it counts as bf16. The clock is what the estimate uses (`judge/compile/schedule`)."""

    kind: str
    bytes_per_s: float
    bf16: float
    int8: float
    int4: float
    fp8: float
    clock_ghz: float


CHIPS: dict[str, Chip] = {
    "v4": Chip("TPU v4", 6.15e11, 1.375e14, 0, 0, 0, 1.05),
    "v5e": Chip("TPU v5 lite", 8.20e11, 1.97e14, 3.94e14, 7.88e14, 0, 1.50),
    "v5p": Chip("TPU v5", 1.3825e12, 2.295e14, 4.59e14, 9.20e14, 0, 1.75),
    "v6e": Chip("TPU v6 lite", 1.64e12, 9.20e14, 1.84e15, 3.68e15, 9.20e14, 1.75),
    "tpu7x": Chip("TPU7x", 3.70e12, 1.155e15, 0, 0, 2.30e15, 2.20),
}
_OTHER_KINDS = {"TPU v5e": "v5e", "TPU v5p": "v5p", "TPU v6e": "v6e"}


def chip_of(device_kind: str) -> str | None:
    """Our name for the chip that JAX calls `device_kind`; None for one whose figures are not known here."""
    known = {chip.kind: name for name, chip in CHIPS.items()} | _OTHER_KINDS
    return known.get(device_kind)


class Roof(NamedTuple):
    """What one device can do: bytes a second from and to HBM, and operations a second at each of `RATES`."""

    bytes_per_s: float
    rates: Mapping[str, float]

    def ceiling(self, rate: str, intensity: float) -> float:
        """Operations a second that a program with `intensity` operations a byte can reach at this rate."""
        return min(self.rates[rate], intensity * self.bytes_per_s)

    def ridge(self, rate: str) -> float:
        """The intensity at which memory and the unit are both busy."""
        return self.rates[rate] / self.bytes_per_s


def roof(chip: str, cores: int = 1) -> Roof:
    """The roof of a device of `cores` TensorCores. KeyError for a chip that is not in `CHIPS`."""
    one = CHIPS[chip]
    rates = {
        "bf16": one.bf16,
        "int8": one.int8 or one.bf16,
        "int4": one.int4 or one.int8 or one.bf16,
        "fp8": one.fp8 or one.bf16,
        "f32": one.bf16 / F32_PASSES,
        "vector": LANES * ALUS * one.clock_ghz * 1e9,
    }
    return Roof(one.bytes_per_s * cores, {name: rate * cores for name, rate in rates.items()})


def unit_us(of: Roof, work: Mapping[str, int]) -> tuple[str, float]:
    """The rate whose unit is busy the longest with this work, and for how long. Units work side by side, but all
    products share the matrix unit."""
    products = {rate: n / of.rates[rate] * 1e6 for rate, n in work.items() if rate != "vector" and n > 0}
    vector = work.get("vector", 0) / of.rates["vector"] * 1e6
    matrix = sum(products.values())
    if vector > matrix or not products:
        return "vector", vector
    return max(products, key=lambda rate: products[rate]), matrix


def least_us(of: Roof, work: Mapping[str, int], moved: int) -> float:
    """The time that a program of this work and traffic takes at the very least."""
    return max(unit_us(of, work)[1], moved / of.bytes_per_s * 1e6)


def share(of: Roof, work: Mapping[str, int], moved: int, us: float) -> float | None:
    """Which part of the roof a time of `us` reaches; 1 is the best possible, None where there is nothing to reach."""
    least = least_us(of, work, moved)
    return least / us if us > 0 and math.isfinite(us) and least > 0 else None
