"""What limits a kernel and what would help, in one or two sentences, from the facts of its case and its time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from math import prod
from typing import Literal, NamedTuple

from tutor.findings.numbers import two_digits
from tutor.protocol import BlockWalk, CaseFacts, KernelFacts, Schedule, Staged, Work
from tutor.roof import Roof, least_us, unit_us

type Help = Literal[
    "bigger blocks", "axis order", "narrower dtype", "lower precision", "fewer loads", "fewer live values",
    "fewer operations", "longer products", "nothing",
]  # fmt: skip

NEAR = 0.8
"""From this share of the roof on, a kernel is as good as done."""
AGAIN = 1.3
"""An operand that moves this many times the least is fetched again."""
GAIN = 0.8
"""Another axis order is named if it moves at most this share of the bytes."""
SPILLS = 0.05
MOST_AXES = 5


class Advice(NamedTuple):
    """`help` is what would help most, `words` say it."""

    help: Help
    words: str


def advice(facts: CaseFacts, work: Work, of: Roof, us: float, schedule: Schedule | None = None) -> Advice | None:
    """What limits a program that takes `us` microseconds; None where nothing is known of its time or its kernels.

    `schedule` is the estimate that the time comes from, if it was not measured."""
    if not 0 < us < float("inf") or not facts.kernels:
        return None
    moved = work.moved if work.moved is not None else schedule.bytes_read if schedule is not None else 0
    rate, busy = unit_us(of, work.operations)
    memory = moved / of.bytes_per_s * 1e6
    reached = least_us(of, work.operations, moved) / us
    bound = schedule.bound if schedule is not None else "compute" if busy >= memory else "memory"
    kernel = max(facts.kernels, key=lambda one: one.steps or 0)
    steps = sum(one.steps or 1 for one in facts.kernels)
    again = refetched(kernel)
    if again is not None and bound != "compute":
        return _again(again, kernel)
    if reached >= NEAR:
        by = "what memory can bring" if memory >= busy else f"what the {_unit(rate)} can do"
        return _at_the_roof(facts, reached, by, memory >= busy)
    if bound == "DMA overhead" or (bound == "memory" and reached < 0.5 and steps > 1):
        each = size_words(moved / steps)
        return Advice(
            "bigger blocks",
            f"The fixed cost of its {steps:,} steps limits it: each moves only {each}. Bigger blocks make fewer and "
            "longer copies.",
        )
    if bound == "memory":
        return _traffic(facts, moved)
    return _compute(kernel, work, rate, busy / us, schedule)


def refetched(kernel: KernelFacts) -> Staged | None:
    """The input that moves most above its least, if it is fetched again to speak of."""
    outputs = {walk.operand for walk in kernel.walks if walk.output is not None}
    outputs |= {operand.name for operand in kernel.kernel.operands if operand.role == "output"}
    found = [s for s in kernel.staged if s.operand not in outputs and s.bytes >= AGAIN * s.least_bytes > 0]
    total = sum(s.bytes for s in kernel.staged)
    worst = max(found, key=lambda s: s.bytes - s.least_bytes, default=None)
    return worst if worst is not None and worst.bytes - worst.least_bytes >= 0.2 * total else None


def better_order(kernel: KernelFacts) -> tuple[int, ...] | None:
    """The order of the grid's axes, outermost first, that moves the fewest bytes, if that is much less than now.

    Only orders in which every output block is written in one go count: else a sum would be cut in pieces."""
    grid = [n for n in kernel.kernel.grid if n is not None]
    if not kernel.walks or len(grid) != len(kernel.kernel.grid) or not 1 < len(grid) <= MOST_AXES:
        return None
    if any(len(walk.blocks) != prod(grid) for walk in kernel.walks):
        return None
    block_bytes = {s.operand: s.bytes / max(1, s.moves) for s in kernel.staged}
    now, best, order = _bytes(kernel.walks, grid, range(len(grid)), block_bytes), float("inf"), None
    for axes in permutations(range(len(grid))):
        moved = _bytes(kernel.walks, grid, axes, block_bytes)
        if moved < best:
            best, order = moved, axes
    return order if best <= GAIN * now else None


def _bytes(walks: list[BlockWalk], grid: list[int], axes: Sequence[int], block_bytes: dict[str, float]) -> float:
    import numpy as np

    total = 0.0
    for walk in walks:
        rank = max(1, len(walk.blocks[0])) if walk.blocks else 1
        blocks = np.asarray(walk.blocks).reshape(*grid, rank).transpose(*axes, len(grid)).reshape(-1, rank)
        moves = 1 + int((blocks[1:] != blocks[:-1]).any(axis=1).sum())
        if walk.output is not None and moves > len(np.unique(blocks, axis=0)):
            return float("inf")
        total += moves * block_bytes.get(walk.operand, 0.0)
    return total


def size_words(count: float) -> str:
    """`512 bytes`, `64 KiB`, `1.5 MiB`."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return f"{count:.0f} bytes"


def _again(again: Staged, kernel: KernelFacts) -> Advice:
    words = (
        f"Memory traffic limits it: `{again.operand}` is read {two_digits(again.bytes / again.least_bytes)} times "
        f"over, {size_words(again.bytes)} for {size_words(again.least_bytes)}."
    )
    if (order := better_order(kernel)) is not None:
        axes = ", ".join(map(str, order))
        return Advice("axis order", f"{words} With the grid's axes in the order {axes} blocks would stay longer.")
    return Advice("bigger blocks", f"{words} Bigger blocks along the axes that it does not follow would help.")


def _at_the_roof(facts: CaseFacts, reached: float, by: str, memory: bool) -> Advice:
    words = f"It reaches {min(reached, 1.0):.0%} of {by}: there is little left to gain."
    return _narrower(facts, words) if memory and _wide_share(facts) >= 0.5 else Advice("nothing", words)


def _traffic(facts: CaseFacts, moved: float) -> Advice:
    words = f"Memory traffic limits it: {size_words(moved)}, each block about once."
    if _wide_share(facts) >= 0.5:
        return _narrower(facts, words)
    return Advice("bigger blocks", f"{words} Bigger blocks make longer copies, which come nearer to the memory's best.")


def _narrower(facts: CaseFacts, words: str) -> Advice:
    return Advice("narrower dtype", f"{words} Only fewer bytes would help: bfloat16, where that is exact enough.")


def _wide_share(facts: CaseFacts) -> float:
    """Which part of the bytes of blocked operands is float32."""
    total = wide = 0
    for kernel in facts.kernels:
        dtypes = {operand.name: operand.dtype for operand in kernel.kernel.operands}
        for staged in kernel.staged:
            total += staged.bytes
            wide += staged.bytes if dtypes.get(staged.operand) == "float32" else 0
    return wide / total if total else 0.0


def _compute(kernel: KernelFacts, work: Work, rate: str, busy: float, schedule: Schedule | None) -> Advice:
    if schedule is not None and schedule.spill_share >= SPILLS:
        return Advice(
            "fewer live values",
            f"Computing limits it, and {schedule.spill_share:.0%} of its stores are spills: more values are alive at "
            "once than there are registers. Work through a block in smaller pieces.",
        )
    if rate == "f32":
        return Advice(
            "lower precision",
            "The matrix unit limits it: float32 products at precision HIGHEST take six passes each. With bfloat16 "
            "factors, or default precision, they take one, where that is exact enough.",
        )
    if (twice := loaded_again(kernel)) is not None:
        ref, count = twice
        return Advice(
            "fewer loads",
            f"Computing limits it, not memory: `{ref}` is loaded {count} times in each step. Load it once and keep the "
            "value.",
        )
    if rate == "vector":
        return Advice(
            "fewer operations", "The vector unit limits it, not memory: fewer operations on each element would help."
        )
    return Advice(
        "longer products",
        f"Computing limits it, not memory, and the matrix unit has work for {min(busy, 1.0):.0%} of the time. Bigger "
        "blocks give longer products, with less beside them.",
    )


def loaded_again(kernel: KernelFacts) -> tuple[str, int] | None:
    """The Ref that one step loads most often in the same shape, if more than once."""
    loads: Counter[tuple[str, tuple[int, ...]]] = Counter()
    for access in kernel.kernel.accesses:
        if access.kind == "load" and access.space == "vmem" and not access.branch and prod(access.shape) > 1:
            loads[access.ref, tuple(access.shape)] += 1
    scratch = {operand.name for operand in kernel.kernel.operands if operand.role == "scratch"}
    found = [(ref, count) for (ref, _), count in loads.items() if count > 1 and ref not in scratch]
    return max(found, key=lambda one: one[1], default=None)


def _unit(rate: str) -> str:
    return "vector unit" if rate == "vector" else "matrix unit"
