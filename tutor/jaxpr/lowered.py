"""What a TPU artifact says of its kernels: the second witness beside the jaxpr, read on the trusted side.

The Mosaic module is the kernel as it was lowered, before clean-up. `mosaic_code` reads it into plain records,
`index_functions` works its scalars out, `lowered_accesses` says what it does to memory, `lowered_flow` follows the
arrays round it; here all of that becomes one record for each call of a kernel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import jax.export
import numpy as np

from tutor.jaxpr.arithmetic import arithmetic_outside
from tutor.jaxpr.compat import ir, is_unwritten, mlir_modules, operations
from tutor.jaxpr.index_functions import Array, block_indices
from tutor.jaxpr.index_maps import grid_steps
from tutor.jaxpr.lowered_accesses import COPY, STORES, Touch, bases, bytes_at_most, bytes_copied, touches
from tutor.jaxpr.lowered_flow import Call, Source, read_flow
from tutor.jaxpr.mosaic_code import Function, Shaped, Window, read_functions
from tutor.jaxpr.traffic import MOST_STEPS

_QUIET = frozenset(
    {
        "builtin.module", "func.func", "func.return", "func.call", "stablehlo.custom_call", "stablehlo.constant",
        "stablehlo.reshape", "stablehlo.transpose", "stablehlo.broadcast_in_dim", "stablehlo.convert",
        "stablehlo.bitcast_convert", "stablehlo.return", "stablehlo.tuple", "stablehlo.get_tuple_element",
        "stablehlo.optimization_barrier", "stablehlo.reduce_precision", "sdy.mesh", "sdy.manual_computation",
        "sdy.return", "sdy.sharding_constraint",
    }
)  # fmt: skip
"""Operations outside the kernels that shape or convert arrays, and compute nothing."""
MOVING = frozenset({"stablehlo.slice", "stablehlo.concatenate", "stablehlo.pad", "stablehlo.iota"})
"""Those that take elements from one place to another: what JAX calls a slice, a concatenation, … is lowered to them."""


@dataclass(frozen=True)
class LoweredRef:
    """One argument of a lowered kernel. `type` is the block's, where the pipeline cuts the array into blocks.

    `array` is shape and dtype of the array outside, for operands and results of the call."""

    name: str
    type: Shaped
    array: tuple[tuple[int, ...], str] | None
    window: Window | None = None


@dataclass(frozen=True)
class LoweredKernel:
    """One call of a kernel in a TPU artifact. `function` is its body, `functions` are its index maps, by name.

    `refs` are scalar prefetch, inputs, outputs and scratch, in this order. `inputs` counts what the call is given (the
    prefetched included), `outputs` what it gives back. `sources` and `values` are of what it is given: the program's
    input that each is, and the contents where they are known. `aliases` pairs these with outputs. `flows` are the
    program's outputs that the kernel's outputs flow to; `unclear` are those of which nobody can tell."""

    function: Function
    functions: Mapping[str, Function]
    refs: tuple[LoweredRef, ...]
    inputs: int
    outputs: int
    sources: tuple[Source, ...]
    values: tuple[Array | None, ...]
    aliases: frozenset[tuple[int, int]]
    flows: tuple[int | None, ...]
    unclear: frozenset[int]

    @cached_property
    def counted(self) -> Counter[str]:
        """How often each operation stands in the text."""
        return Counter(op.name for op in self.function.body.walk())

    @property
    def copies(self) -> int:
        """Copies that are started, in the text."""
        return self.counted[COPY]

    @cached_property
    def products(self) -> Counter[str]:
        """Matrix products in the text, by the dtype of their result."""
        types = self.function.types
        made = [types[op.results[0]] for op in self.function.body.walk() if op.name == "tpu.matmul"]
        return Counter(type_.dtype for type_ in made if isinstance(type_, Shaped))

    @cached_property
    def touches(self) -> list[Touch]:
        """Every load, store and copy; a Ref that is an argument is a position in `refs`."""
        axes = len(self.function.body.arguments) - len(self.refs)
        return [touch.with_refs_from(axes) for touch in touches(self.function)]

    @cached_property
    def buffers(self) -> list[Shaped]:
        """What is allocated inside, semaphores excepted."""
        found = (self.function.types[op.results[0]] for op in self.function.body.walk() if op.name == "memref.alloca")
        return [type_ for type_ in found if isinstance(type_, Shaped)]

    @cached_property
    def steps(self) -> Array | None:
        """The program ids of every grid step; None if a bound is computed or there are too many."""
        return grid_steps(self.function.grid, max_steps=MOST_STEPS)

    @cached_property
    def blocks(self) -> dict[int, Array | None]:
        """Which block each blocked Ref has at every grid step, int64[steps, ndim], None where that cannot be known.

        By position in `refs`. Without a grid there is one step, and an operand is its only block."""
        if self.steps is None:
            return {}
        found: dict[int, Array | None] = {}
        for i, ref in enumerate(self.refs):
            if ref.array is None or i < self.function.prefetch or ref.type.space not in ("vmem", "smem"):
                continue
            if ref.window is None or ref.window.transform is None:
                found[i] = np.zeros((len(self.steps), len(ref.array[0])), np.int64)
            else:
                index_map = self.functions[ref.window.transform]
                tables = self.values[: self.function.prefetch]
                found[i] = block_indices(index_map, self.steps, tables)
        return found

    @cached_property
    def copied(self) -> list[tuple[int, int]]:
        """Bytes that the kernel's own copies move from HBM or ANY and to it over the whole grid: as they run, where
        that can be known, and if of the branches of each condition the one that moves most were taken."""
        if not self.copies:
            return [(0, 0)]
        if self.steps is None:
            return []
        axes, count = len(self.function.body.arguments) - len(self.refs), len(self.steps)
        each = bytes_at_most(self.function)
        most = None if each is None else (each[0] * count, each[1] * count)
        ran = bytes_copied(self.function, self.steps, self._tables(axes))
        return [moved for moved in (ran, most) if moved is not None]

    def _tables(self, axes: int) -> dict[int, Array]:
        """The contents of arguments in SMEM that the kernel does not change: prefetched, or there as a whole."""
        arguments, known = self.function.body.arguments, {}
        base = bases(self.function)
        written = {base.get(op.operands[1]) for op in self.function.body.walk() if op.name in STORES}
        for i, value in enumerate(self.values):
            whole = value is not None and self.refs[i].type.space == "smem" and self.refs[i].type.shape == value.shape
            if whole and value is not None and arguments[axes + i] not in written:
                known[arguments[axes + i]] = value
        return known


@dataclass(frozen=True)
class Lowered:
    """A TPU artifact: its kernels in program order, one for each call; what stands outside them besides shaping arrays,
    what calls it makes, and the arithmetic outside."""

    kernels: tuple[LoweredKernel, ...]
    outside: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    arithmetic: Counter[str] = field(default_factory=Counter)


def read_lowered(exported: jax.export.Exported, inputs: Mapping[int, Array] | None = None) -> Lowered:
    """Read a TPU artifact. Nothing in it is run. `inputs` are inputs of the program whose contents are known, by
    position: index maps and loops may read them."""
    with mlir_modules(exported) as (module, kernels):
        outside: Counter[str] = Counter()
        calls: Counter[str] = Counter()
        for operation in operations(module.operation):
            if operation.name not in _QUIET:
                outside[operation.name] += 1
            if operation.name == "stablehlo.custom_call" and not is_unwritten(operation):
                calls[ir.StringAttr(operation.attributes["call_target_name"]).value] += 1
        flow = read_flow(module, tuple(exported.module_kept_var_idx), inputs or {})
        bodies = {call: read_functions(mosaic) for call, mosaic in kernels}
        seen = tuple(
            _kernel(call, number, bodies[call.operation], flow.outputs)
            for number, call in enumerate(flow.calls)
            if call.operation in bodies
        )
        return Lowered(seen, outside, calls, arithmetic_outside(module))


def _kernel(call: Call, number: int, functions: Mapping[str, Function], ends: list[Source]) -> LoweredKernel:
    function = next(iter(functions.values()))
    bounds = function.grid.count(None)
    operands, outputs = call.operands[bounds:], call.results
    arguments = [(n, function.types[n]) for n in function.body.arguments]
    refs = [(n, type_) for n, type_ in arguments if isinstance(type_, Shaped)]
    arrays: list[tuple[tuple[int, ...], str] | None] = [*operands, *outputs]
    arrays += [None] * (len(refs) - len(arrays))
    windows = (None,) * function.prefetch + function.windows
    named = dict(zip(function.body.arguments, function.names, strict=True))
    return LoweredKernel(
        function,
        functions,
        tuple(
            LoweredRef(named[n], type_, array, windows[i] if i < len(windows) else None)
            for i, ((n, type_), array) in enumerate(zip(refs, arrays, strict=False))
        ),
        len(operands),
        len(outputs),
        call.sources[bounds:],
        call.values[bounds:],
        frozenset((operand - bounds, output) for operand, output in call.aliases),
        tuple(ends.index((number, i)) if (number, i) in ends else None for i in range(len(outputs))),
        frozenset(i for i, source in enumerate(ends) if source is None),
    )
