"""The primitives that the facts name inside a kernel, against the operations of its module.

Only where lowering leaves a mark that can be told from others: most primitives become arithmetic that several give, and
for those the facts are believed."""

from __future__ import annotations

from collections.abc import Iterator

from tutor.jaxpr.lowered import LoweredKernel
from tutor.protocol import KernelFacts

MARKS: dict[str, tuple[str, ...]] = {
    "exp": ("math.exp",), "log": ("math.log",), "tanh": ("math.tanh",), "sqrt": ("math.sqrt",),
    "rsqrt": ("math.rsqrt",), "sin": ("math.sin",), "cos": ("math.cos",), "transpose": ("tpu.transpose",),
    "roll": ("tpu.dynamic_rotate",), "concatenate": ("tpu.concatenate",), "gather": ("tpu.dynamic_gather",),
    "slice": ("vector.extract_strided_slice",), "dma_start": ("tpu.enqueue_dma",),
    "dot_general": ("tpu.matmul", "vector.multi_reduction"),
}  # fmt: skip
"""Primitives, and the operations of which lowering makes at least one. A product with one row may become a sum."""
_PIECES = (
    "slice", "concatenate", "stack", "unstack", "split", "pad", "tile", "gather", "top_k", "approx_top_k",
    "threefry2x32", "random_bits", "random_fold_in", "random_split", "random_wrap", "random_unwrap",
)  # fmt: skip
SOURCES: dict[str, tuple[str, ...]] = {
    "tpu.matmul": ("dot_general", "conv_general_dilated"), "tpu.transpose": ("transpose", "top_k", "approx_top_k"),
    "tpu.dynamic_rotate": ("roll", "top_k", "approx_top_k"), "tpu.dynamic_gather": ("gather", "top_k", "approx_top_k"),
    "tpu.concatenate": _PIECES, "vector.extract_strided_slice": _PIECES,
}  # fmt: skip
"""Operations, and all primitives that they come from."""


def other_primitives(kernel: KernelFacts, lowered: LoweredKernel) -> Iterator[str]:
    """What the facts name without a mark in the module, and marks of which they do not name the cause."""
    told, read = {primitive.name for primitive in kernel.inside}, lowered.counted
    for name in sorted(told & MARKS.keys()):
        if not any(read[operation] for operation in MARKS[name]):
            yield f"has no {' or '.join(MARKS[name])}; the trace shows `{name}`"
    for operation in sorted(read.keys() & SOURCES.keys()):
        if not told & set(SOURCES[operation]):
            yield f"has {operation}; the trace shows nothing that it comes from"
