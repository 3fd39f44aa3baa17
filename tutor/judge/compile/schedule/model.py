"""What a cycle and a copy cost on each chip. One TensorCore; one DMA queue, first in, first out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Core:
    """One core. `delay_slots`: bundles that still issue after a branch. `granule`: bytes of one unit of a DMA's size.

    Clock: the published peak of bf16 products divided by the operations of one matrix-unit cycle (131,072 a core on
    v4, v5e and v5p, 524,288 on v6e and tpu7x). HBM: published bandwidth, a core's share. `dma_ns` is the fixed cost of
    one copy, `reads` and `writes` the share of the peak that is reached: fitted on public v5e timings, assumed for the
    other chips."""

    clock_ghz: float
    hbm_gb_per_s: float
    delay_slots: int
    granule: int = 32
    dma_ns: float = 120.0
    reads: float = 0.90
    writes: float = 0.75

    def copy_cycles(self, count: int, *, write: bool) -> float:
        """Cycles that a copy of `count` bytes keeps the queue busy."""
        ns = count / self.hbm_gb_per_s
        return max(self.dma_ns + ns, ns / (self.writes if write else self.reads)) * self.clock_ghz


CORES: dict[str, Core] = {
    "v4": Core(1.05, 614.0, delay_slots=1, granule=512),
    "v5e": Core(1.50, 819.0, delay_slots=4),
    "v5p": Core(1.75, 1382.0, delay_slots=4),
    "v6e": Core(1.75, 1640.0, delay_slots=4),
    "tpu7x": Core(2.20, 3690.0, delay_slots=6),
}
