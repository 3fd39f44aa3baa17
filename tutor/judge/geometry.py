"""Where a lowered kernel is another one than the facts say.

The facts come from the process that ran the learner's Python; `LoweredKernel` is read here, from the TPU artifact. Each
function gives words for "the lowered kernel …"."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from tutor.jaxpr.lowered import LoweredKernel, LoweredRef
from tutor.jaxpr.lowered_flow import FRESH
from tutor.judge.alike import PIPELINED, mlir_dtype, own_refs, words
from tutor.judge.inside import other_primitives
from tutor.judge.touched import other_accesses
from tutor.judge.walked import other_blocks
from tutor.protocol import KernelFacts, Operand
from tutor.protocol.facts import WINDOW


def differences(kernel: KernelFacts, lowered: LoweredKernel, names: Sequence[str] = ()) -> Iterator[str]:
    """How the lowered kernel differs from the traced one. `names` are the program's inputs, in order."""
    other = [*_grid(kernel, lowered), *_roles(kernel, lowered)]
    yield from other
    if other:
        return  # nothing in them is the like of each other
    for operand, ref in zip(kernel.kernel.operands, own_refs(kernel, lowered), strict=False):
        yield from _operand(operand, lowered.refs[ref])
    yield from _buffers(kernel, lowered)
    yield from _products(kernel, lowered)
    yield from other_blocks(kernel, lowered)
    yield from other_accesses(kernel, lowered)
    yield from other_primitives(kernel, lowered)
    if kernel.kernel.primitive == PIPELINED:
        yield from _flow(kernel, lowered, names)


def _grid(kernel: KernelFacts, lowered: LoweredKernel) -> Iterator[str]:
    told, read = list(kernel.kernel.grid), list(lowered.function.grid)
    if kernel.kernel.primitive != PIPELINED and all(n == 1 for n in read):
        read = []
    if told != read:
        yield f"has the grid {words(read)}; the trace shows {words(told)}"
    steps = None if None in read else math.prod(n for n in read if n is not None)
    if kernel.steps != steps:
        yield f"has {steps} grid steps; the trace counts {kernel.steps}"


def _roles(kernel: KernelFacts, lowered: LoweredKernel) -> Iterator[str]:
    function = lowered.function
    read = (function.prefetch, lowered.inputs - function.prefetch, lowered.outputs, function.scratch)
    roles = Counter(operand.role for operand in kernel.kernel.operands)
    scoped = len(kernel.kernel.operands) - len(own_refs(kernel, lowered))
    told = (roles["prefetch"], roles["input"], roles["output"], roles["scratch"] - scoped)
    if scoped < 0 or (kernel.kernel.primitive == PIPELINED and told != read):
        yield f"has {_counts(read)}; the trace shows {_counts(told)}"


def _counts(counts: tuple[int, int, int, int]) -> str:
    prefetch, inputs, outputs, scratch = counts
    return f"{prefetch} scalar-prefetch operands, {inputs} inputs, {outputs} outputs and {scratch} scratch operands"


def _operand(operand: Operand, ref: LoweredRef) -> Iterator[str]:
    if operand.space != ref.type.space:
        yield f"has {operand.name} in {ref.type.space}; the trace has it in {operand.space}"
    if operand.dtype.startswith("key<"):
        return  # random keys have more dimensions when they are lowered
    if mlir_dtype(operand.dtype) != ref.type.dtype:
        yield f"holds {ref.type.dtype} in {operand.name}; the trace shows {operand.dtype}"
    shape = ref.type.shape if ref.array is None else ref.array[0]
    if list(shape) != operand.shape:
        yield f"has {operand.name} of shape {words(shape)}; the trace shows {words(operand.shape)}"
    if operand.block_shape is not None:
        told = [n or 1 for n in operand.block_shape]
        read = ref.type.shape if ref.window is None else ref.window.bounds
        if told != list(read) or told != list(ref.type.shape):
            yield f"cuts {operand.name} into blocks of {words(read)}; the trace shows {words(told)}"
    elif ref.array is not None and ref.type.space in ("vmem", "smem") and list(ref.type.shape) != operand.shape:
        yield f"cuts {operand.name} into blocks of {words(ref.type.shape)}; the trace shows it whole"


def _buffers(kernel: KernelFacts, lowered: LoweredKernel) -> Iterator[str]:
    """What is allocated inside has no names in the module, so only that there are as many of each kind is known."""
    operands, count = kernel.kernel.operands, len(own_refs(kernel, lowered))
    names = [operand.name for operand in operands]
    if len(set(names)) < len(names) or any(name.endswith(WINDOW) for name in names[:count]):
        yield "has operands that the trace does not name apart"
    told = Counter(f"{mlir_dtype(o.dtype)}{words(o.shape)} in {o.space}" for o in operands[count:])
    read = Counter(f"{buffer.dtype}{words(buffer.shape)} in {buffer.space}" for buffer in lowered.buffers)
    for kind in (read - told) + (told - read):
        yield f"allocates {read[kind]} buffers of {kind}; the trace shows {told[kind]}"


def _products(kernel: KernelFacts, lowered: LoweredKernel) -> Iterator[str]:
    """In which dtypes the products come out. A product with a single row may be lowered as a sum."""
    told = {mlir_dtype(dot.result_dtype) for dot in kernel.dots}
    if other := sorted(set(lowered.products) - told):
        yield f"has products in {', '.join(other)}; the trace shows {', '.join(sorted(told)) or 'none'}"


def _flow(kernel: KernelFacts, lowered: LoweredKernel, names: Sequence[str]) -> Iterator[str]:
    """What of the program's inputs and outputs the operands are, and which share a buffer."""
    operands = kernel.kernel.operands
    places = {operand.name: i for i, operand in enumerate(operands)}
    told = {(places.get(alias.operand, -1), alias.output) for alias in kernel.aliases}
    if told != lowered.aliases:
        yield f"has the aliases {_pairs(lowered.aliases)}; the trace shows {_pairs(told)}"
    for alias in kernel.aliases:
        if alias.operand in places and alias.source != operands[places[alias.operand]].argument:
            yield f"has an alias of {alias.operand} that the trace says to be of {alias.source}"
    for operand, source in zip(operands, lowered.sources, strict=False):
        real = names[source] if isinstance(source, int) and source < len(names) else source
        if isinstance(real, str) and operand.argument != real and (real != FRESH or operand.argument is not None):
            yield f"is given {real} as {operand.name}; the trace shows {operand.argument or 'something else'}"
    for i, (output, flows) in enumerate(zip(kernel.output_arguments, lowered.flows, strict=True)):
        if output != flows and output not in lowered.unclear:
            yield f"makes output {flows} of the program as its output {i}; the trace shows {output}"


def _pairs(pairs: Collection[tuple[int, int]]) -> str:
    return ", ".join(f"{operand}: {output}" for operand, output in sorted(pairs)) or "none"
