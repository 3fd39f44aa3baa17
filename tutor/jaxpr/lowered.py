"""What a TPU artifact says of its kernels: the second witness beside the jaxpr, read on the trusted side.

The Mosaic module is the kernel as it was lowered, before clean-up. A store of the jaxpr (`swap`) stands there as a
load and a store, so a kernel without loops has as many vector loads as the jaxpr has loads, stores and accumulates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import jax.export

from tutor.jaxpr.arithmetic import arithmetic_outside
from tutor.jaxpr.compat import mlir_modules, operations
from tutor.protocol import Space

_SPACE = re.compile(r"memory_space<(\w+)>")
_SPACES: dict[str, Space] = {"vmem": "vmem", "smem": "smem", "any": "any", "hbm": "hbm", "semaphore_mem": "semaphore"}
_LOADS = ("vector.load", "memref.load", "tpu.vector_load", "tpu.load", "tpu.strided_load", "tpu.shuffled_load")
_STORES = ("vector.store", "memref.store", "tpu.vector_store", "tpu.store", "tpu.strided_store", "tpu.shuffled_store")
_LOOPS = ("scf.for", "scf.while")
_QUIET = frozenset(
    {
        "builtin.module", "func.func", "func.return", "func.call", "stablehlo.custom_call", "stablehlo.constant",
        "stablehlo.reshape", "stablehlo.transpose", "stablehlo.broadcast_in_dim", "stablehlo.convert",
        "stablehlo.bitcast_convert", "stablehlo.return", "stablehlo.tuple", "stablehlo.get_tuple_element",
        "stablehlo.optimization_barrier", "stablehlo.slice", "stablehlo.concatenate", "stablehlo.pad",
        "stablehlo.iota", "stablehlo.reduce_precision", "sdy.mesh", "sdy.manual_computation",
        "sdy.return", "sdy.sharding_constraint",
    }
)  # fmt: skip
"""Operations outside the kernels that move, shape or convert arrays, and compute nothing."""


@dataclass(frozen=True)
class LoweredRef:
    """One memory argument of a lowered kernel."""

    name: str
    space: Space | None


@dataclass(frozen=True)
class LoweredKernel:
    """One kernel of a TPU artifact. Counts are operations in the text, each once; `loops` says that some repeat."""

    refs: tuple[LoweredRef, ...]
    loads: int
    stores: int
    copies: int
    products: Counter[str]
    loops: bool
    aliases: int


@dataclass(frozen=True)
class Lowered:
    """A TPU artifact: its kernels in program order, what stands outside them besides moving and shaping arrays, what
    calls it makes, and the arithmetic outside."""

    kernels: tuple[LoweredKernel, ...]
    outside: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    arithmetic: Counter[str] = field(default_factory=Counter)


def read_lowered(exported: jax.export.Exported) -> Lowered:
    """Read a TPU artifact. Nothing in it is run."""
    with mlir_modules(exported) as (module, kernels):
        outside: Counter[str] = Counter()
        calls: Counter[str] = Counter()
        for operation in operations(module.operation):
            if operation.name not in _QUIET:
                outside[operation.name] += 1
            if operation.name == "stablehlo.custom_call":
                calls[_text(operation.attributes["call_target_name"])] += 1
        seen = tuple(_kernel(call, mosaic) for call, mosaic in kernels)
        return Lowered(seen, outside, calls, arithmetic_outside(module))


def _kernel(call: Any, mosaic: Any) -> LoweredKernel:
    function = next(op for op in operations(mosaic.operation) if _name(op) == "func.func")
    counted: Counter[str] = Counter()
    products: Counter[str] = Counter()
    inside = list(operations(function))
    for operation in inside:
        name = _name(operation)
        counted[name] += 1
        if name == "tpu.matmul":
            products[_element(operation.results[0].type)] += 1
    named = "output_operand_aliases"
    aliases = call.attributes[named] if named in call.attributes else ()  # noqa: SIM401 (MLIR's map has no `get`)
    return LoweredKernel(
        refs=tuple(_refs(function)),
        loads=sum(counted[name] for name in _LOADS),
        stores=sum(counted[name] for name in _STORES),
        copies=counted["tpu.enqueue_dma"],
        products=products,
        loops=any(counted[name] for name in _LOOPS),
        aliases=len(list(aliases)),
    )


def _refs(function: Any) -> Iterator[LoweredRef]:
    for argument in function.regions[0].blocks[0].arguments:
        text = str(argument.type)
        if text.startswith("memref<"):
            space = _SPACE.search(text)
            named = re.match(r'loc\("([^"]*)"', str(argument.location))
            yield LoweredRef(named[1] if named else "", _SPACES.get(space[1]) if space else None)


def _element(type_: Any) -> str:
    return str(type_).removesuffix(">").rpartition("x")[2]


def _name(operation: Any) -> str:
    return str(operation.name).removeprefix("stable_mosaic.")


def _text(attribute: Any) -> str:
    return str(attribute).strip('"')
