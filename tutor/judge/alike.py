"""What a lowered kernel and the facts of a traced one have in common: which Ref is which operand, and words for both.

What only lowering adds or takes away makes no difference: dimensions of 1, truth values that are integers of 32 bits,
signs of integers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tutor.jaxpr.lowered import LoweredKernel
from tutor.protocol import KernelFacts

PIPELINED = "pallas_call"
"""The only kernels whose operands a pipeline cuts into blocks."""
_DTYPES = {
    "float64": "f64", "float32": "f32", "bfloat16": "bf16", "float16": "f16", "bool": "i32",
    "dma_sem": "!tpu.dma_semaphore", "semaphore": "!tpu.semaphore", "barrier_semaphore": "!tpu.semaphore",
}  # fmt: skip


def mlir_dtype(name: str) -> str:
    """How MLIR writes a dtype in memory. Integers have no sign there, and truth values are integers of 32 bits."""
    if name in _DTYPES:
        return _DTYPES[name]
    if name.startswith(("int", "uint")):
        return f"i{name.removeprefix('u').removeprefix('int')}"
    if name.startswith(("float8_", "float4_")):
        return f"f{name[5]}{name[7:].upper()}"
    return name


def own_refs(kernel: KernelFacts, lowered: LoweredKernel) -> list[int]:
    """The lowered Refs, by position, that are the traced kernel's operands; what it allocates inside comes after them.

    A kernel that is given Refs of the program outside gets, when lowered, an output of its own for each it writes."""
    given = 0 if kernel.kernel.primitive == PIPELINED else max(0, len(lowered.aliases) - len(kernel.aliases))
    last = lowered.inputs + lowered.outputs
    return [*range(last - given), *range(last, len(lowered.refs))]


def words(shape: Sequence[int | None] | np.ndarray) -> str:
    """A shape, a grid, or an index of a block."""
    return f"({', '.join('?' if n is None else str(n) for n in shape)})"
