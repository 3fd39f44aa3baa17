"""Facts that the structure rules read."""

from __future__ import annotations

from tutor.protocol.asked import ArraySpec
from tutor.protocol.base import Record
from tutor.protocol.verdict import Finding, Kernel

WINDOW = ".window"
"""How the names of a pipeline's windows end, and no others': rules count the accesses of these otherwise."""


class Primitive(Record, frozen=True):
    """One equation, for rules about what may stand where. `count` is how often it stands on that line."""

    name: str
    line: int | None = None
    count: int = 1


class Dot(Record, frozen=True):
    """One matrix product inside a kernel."""

    lhs_dtype: str
    rhs_dtype: str
    result_dtype: str
    precision: str | None
    line: int | None


class Alias(Record, frozen=True):
    """One aliased pair of a kernel: `source` is an exercise input, `fresh` or None; `output` counts outputs from 0."""

    source: str | None
    operand: str
    output: int


class BlockWalk(Record, frozen=True):
    """Which block one operand has at every grid step, in program order; `blocks[step]` is what the index map gives.

    `block_shape` has 1 where a dimension is squeezed. `element[d]`: the index map counts elements there. `moved`: the
    entry's output has this output's elements at other indices (a transpose or reshape stands between)."""

    operand: str
    array_shape: list[int]
    block_shape: list[int]
    blocks: list[list[int]]
    output: int | None = None
    element: list[bool] = []
    moved: bool = False


class BlockLaw(Record, frozen=True):
    """Which block one operand has at every step of a grid that is too long to list, as a sum over the grid's axes.

    At the grid index (i0, i1, …) the index map gives `base[d]` plus, for each axis k, a share of `terms[d][k]`: if
    that has one number a, the share is a * ik, else it is `terms[d][k][ik]`. The rest is as in `BlockWalk`."""

    operand: str
    array_shape: list[int]
    block_shape: list[int]
    base: list[int]
    terms: list[list[list[int]]]
    output: int | None = None
    element: list[bool] = []
    moved: bool = False


class Staged(Record, frozen=True):
    """What the pipeline moves for one blocked operand over the whole grid: fetches, or write-backs of an output.

    A block whose index did not change does not move again. `least_…`: if each block that is visited moved once."""

    operand: str
    moves: int
    bytes: int
    least_moves: int
    least_bytes: int


class Operations(Record, frozen=True):
    """What one kernel works out over its whole grid, by rate, as in `Work`."""

    by_rate: dict[str, int]
    exact: bool


class KernelFacts(Record, frozen=True):
    """One kernel of one case: the public facts, and what only rules need.

    `output_arguments[i]` is the entry's output that output i flows to. `walks` are there for grids of at most 4,096
    steps whose index maps can be worked out; `laws` for longer ones (up to 2,000,000 steps) where the index map is a
    sum over the axes; `staged` for both. `vmem_limit_bytes` is what the kernel itself asks for."""

    kernel: Kernel
    inside: list[Primitive]
    dots: list[Dot]
    aliases: list[Alias]
    steps: int | None
    interpret: bool
    line: int | None
    output_arguments: list[int | None] = []
    walks: list[BlockWalk] = []
    vmem_limit_bytes: int | None = None
    laws: list[BlockLaw] = []
    staged: list[Staged] = []
    operations: Operations | None = None


class CaseFacts(Record, frozen=True):
    """What tracing one case found. `outside` are the primitives outside every kernel that are neither layout nor
    dtype changes; `suspects` are findings of the general rules; `modes` are the hazard modes this jaxpr needs; `doubts`
    are said only where the numbers are wrong."""

    case: str
    kernels: list[KernelFacts]
    outside: list[Primitive]
    outputs: list[ArraySpec]
    suspects: list[Finding] = []
    modes: list[str] = []
    jaxpr_sha256: str = ""
    doubts: list[Finding] = []

    @property
    def figures(self) -> Figures:
        """What a rule that is a ratio to the reference compares."""
        moved = [count for kernel in self.kernels for count in (kernel.kernel.bytes_in, kernel.kernel.bytes_out)]
        return Figures(self.case, _sum([_turns(kernel) for kernel in self.kernels]), _sum(moved))


class Figures(Record, frozen=True):
    """Grid steps of all kernels of a case, turns of pipelines inside among them, and bytes that they move between HBM
    and VMEM; None where not known.

    A student's copy of a set has those of the reference, and not the reference."""

    case: str
    steps: int | None
    bytes: int | None


def _turns(kernel: KernelFacts) -> int | None:
    """Grid steps, or what pipelines inside take in all of them: such a pipeline is a grid, too.

    A pipeline copies a block of each array in every turn; its copies are of one line. Two pipelines follow
    each other."""
    lines: dict[int | None, int] = {}
    for access in kernel.kernel.accesses:
        staged = access.to == f"{access.ref}{WINDOW}" or access.ref == f"{access.to}{WINDOW}"
        if access.kind == "copy_start" and staged:
            if access.per_step is None:
                return None
            lines[access.line] = max(lines.get(access.line, 1), access.per_step)
    return None if kernel.steps is None else kernel.steps * max(sum(lines.values()), 1)


def _sum(counts: list[int | None]) -> int | None:
    return None if any(count is None for count in counts) else sum(count or 0 for count in counts)
