"""The program around the kernels: which kernels it calls, and how arrays flow into and out of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tutor.jaxpr.arrays import LARGEST, Array, array_value
from tutor.jaxpr.compat import Constant, Jaxpr, Position, Var, is_ref, written
from tutor.jaxpr.equations import Body
from tutor.jaxpr.kernels import KERNEL_PRIMITIVES, KernelParts, kernel_parts
from tutor.jaxpr.nest import TRANSPARENT, Level, Node, read_kernel
from tutor.protocol import Primitive

LAYOUT = frozenset({
    "broadcast_in_dim", "reshape", "squeeze", "expand_dims", "transpose", "copy", "copy_p", "sharding_constraint",
    "convert_element_type", "bitcast_convert_type", "reduce_precision", "stop_gradient", "layout_constraint",
    "optimization_barrier", "pvary",
})  # fmt: skip
"""Layout and dtype changes: what flows through them is the same array."""

SAME_PLACE = frozenset({"convert_element_type", "copy", "copy_p", "sharding_constraint", "stop_gradient", "pvary",
                        "reduce_precision", "optimization_barrier", "layout_constraint"})  # fmt: skip
"""Of these, the ones that leave every element at its index."""

SILENT = TRANSPARENT | LAYOUT | frozenset({
    "shard_map", "run_state", "empty", "debug_print", "debug_callback", *KERNEL_PRIMITIVES,
})  # fmt: skip
"""What may stand outside a kernel without being remarked on."""


@dataclass(frozen=True)
class Source:
    """Where an array comes from, through layout and dtype changes only: an input of the entry (or `fresh`), or an
    output of a kernel. `moved`: elements may have other indices than there."""

    argument: str | None = None
    output: tuple[int, int] | None = None
    moved: bool = False


FRESH = Source("fresh")
UNKNOWN = Source()


@dataclass(frozen=True)
class KernelCall:
    """One kernel of the program. `sources` and `values` belong to the operands (prefetch, then inputs); a value is
    known where it follows from the case's integer inputs. `written` are Refs of the program around (`core_map`) that
    the kernel writes: further outputs, after its own."""

    node: Node
    parts: KernelParts
    grid: tuple[int | None, ...]
    place: Position | None
    sources: tuple[Source, ...]
    values: tuple[Array | None, ...]
    written: tuple[Var, ...] = ()


@dataclass
class Program:
    """A traced program, read: its kernels in order, what else it computes, and where its outputs come from."""

    level: Level
    kernels: list[KernelCall] = field(default_factory=list)
    outside: list[Primitive] = field(default_factory=list)
    outputs: list[Source] = field(default_factory=list)


def read_program(
    jaxpr: Jaxpr, file_name: str, names: Sequence[str], values: Mapping[str, Array] | None = None
) -> Program:
    """Read a traced program whose inputs have these names; `values` are the inputs whose contents are known."""
    level = read_kernel(jaxpr, {}, file_name)
    program = Program(level)
    reader = _Flow(program)
    for var, name in zip(jaxpr.invars, names, strict=True):
        reader.sources[var] = Source(name)
        if values is not None and name in values:
            reader.values[var] = np.asarray(values[name])
    reader.constants(jaxpr)
    reader.level(level)
    program.outputs = [reader.source(v) for v in jaxpr.outvars]
    program.outside = primitives(level, SILENT)
    return program


def primitives(level: Level, silent: frozenset[str] = TRANSPARENT) -> list[Primitive]:
    """Every primitive with its line, in order of appearance, each pair once with its count."""
    found = Counter(
        (node.eqn.primitive.name, node.place.line if node.place else None)
        for node in level.walk()
        if node.eqn.primitive.name not in silent
    )
    return [Primitive(name=name, line=line, count=count) for (name, line), count in found.items()]


class _Flow:
    """Follows sources and known values through the equations."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.sources: dict[Var, Source] = {}
        self.values: dict[Var, Array] = {}

    def source(self, atom: Any) -> Source:
        return self.sources.get(atom, UNKNOWN) if isinstance(atom, Var) else FRESH

    def value(self, atom: Any) -> Array | None:
        if isinstance(atom, Constant):
            return np.asarray(atom.val)
        return self.values.get(atom)

    def constants(self, jaxpr: Jaxpr) -> None:
        """Arrays that the program captured."""
        for var, const in zip(jaxpr.constvars, getattr(jaxpr, "consts", ()), strict=False):
            self.sources[var] = FRESH
            if getattr(const, "size", LARGEST) < LARGEST and getattr(var.aval.dtype, "kind", "") in "iub":
                self.values[var] = np.asarray(const)

    def level(self, level: Level) -> None:
        for node in level.nodes:
            self.node(node)

    def node(self, node: Node) -> None:
        eqn = node.eqn
        if eqn.primitive.name in KERNEL_PRIMITIVES:
            self.kernel(node)
            return
        results = [self.body(body, below) for body, below in node.inner]
        if eqn.primitive.name == "run_state":  # gives back what its Refs hold at the end
            self.sources.update(zip(eqn.outvars, map(self.source, node.inner[0][1].jaxpr.invars), strict=False))
            return
        if node.touch and node.touch.kind != "load":
            self.sources[eqn.invars[0]] = UNKNOWN
        if results:
            outs = [_agreed([r[i] for r in results if i < len(r)]) for i in range(len(eqn.outvars))]
            if node.inner[0][0].role not in ("call", "branch"):
                outs = [UNKNOWN] * len(outs)
            self.sources.update(zip(eqn.outvars, outs, strict=True))
            if len(results) == 1 and node.inner[0][0].role == "call":
                for var, inner in zip(eqn.outvars, node.inner[0][1].jaxpr.outvars, strict=False):
                    if (known := self.value(inner)) is not None:
                        self.values[var] = known
            return
        self.sources.update(zip(eqn.outvars, self.through(node), strict=True))
        if len(eqn.outvars) == 1:
            known = array_value(eqn, [self.value(v) for v in eqn.invars])
            if known is not None:
                self.values[eqn.outvars[0]] = known

    def through(self, node: Node) -> list[Source]:
        """The sources of the outputs of an equation without bodies."""
        eqn = node.eqn
        given = [self.source(v) for v in eqn.invars]
        name = eqn.primitive.name
        if all(s == FRESH for s in given):
            return [FRESH] * len(eqn.outvars)
        if name in LAYOUT and len(given) == len(eqn.outvars):
            return [s if name in SAME_PLACE else Source(s.argument, s.output, True) for s in given]
        return [UNKNOWN] * len(eqn.outvars)

    def body(self, body: Body, below: Level) -> list[Source]:
        """Read an inner body; the sources of its outputs."""
        for var, atom in body.outer.items():
            self.sources[var] = self.source(atom)
            if (known := self.value(atom)) is not None:
                self.values[var] = known
        for var in (*body.carried, *body.scanned):
            self.sources[var] = UNKNOWN
            self.values.pop(var, None)
        self.constants(below.jaxpr)
        self.level(below)
        return [self.source(v) for v in below.jaxpr.outvars]

    def kernel(self, node: Node) -> None:
        eqn = node.eqn
        number = len(self.program.kernels)
        for i, parts in enumerate(kernel_parts(eqn)):
            refs = zip(parts.operands, (*parts.prefetch, *parts.inputs), strict=True)
            changed = written(parts.jaxpr)
            self.program.kernels.append(
                KernelCall(
                    node, parts, _grid(eqn.params, i, parts), node.place,
                    tuple(self.source(v) for v in parts.operands),
                    parts.unchanged([self.value(v) for v in parts.operands]),
                    tuple(ref for atom, ref in refs if is_ref(atom) and ref in changed),
                )
            )  # fmt: skip
        call = self.program.kernels[number]
        inner = (*call.parts.prefetch, *call.parts.inputs)
        around = [atom for atom, ref in zip(call.parts.operands, inner, strict=True) if ref in call.written]
        for i, var in enumerate((*eqn.outvars, *around)):
            self.sources[var] = Source(None, (number, i))


def _grid(params: Mapping[str, Any], body: int, parts: KernelParts) -> tuple[int | None, ...]:
    """The grid of a kernel; that of `pl.kernel` is its mesh, where it has more than one core."""
    if parts.primitive == "pallas_call":
        return parts.grid
    cores = tuple(int(n) for n in params["meshes"][body].shape.values())
    return cores if any(n > 1 for n in cores) else ()


def _agreed(sources: list[Source]) -> Source:
    return sources[0] if sources and all(s == sources[0] for s in sources) else UNKNOWN
