"""A Mosaic module as plain records: its functions, with the operations, types and attributes that readers ask for.

MLIR's own objects live only as long as their context and are slow to ask; these stay. Values are numbers: `types[v]` is
the type of value `v`. Nothing is interpreted here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tutor.jaxpr.compat import ir
from tutor.protocol import Space

_SPACES: dict[str, Space] = {"vmem": "vmem", "smem": "smem", "any": "any", "hbm": "hbm", "semaphore_mem": "semaphore"}
_DYNAMIC = -(2**63)


@dataclass(frozen=True, slots=True)
class Shaped:
    """A vector (`space` is "vector"), or memory of one memory space. A dimension that data decides is None.

    `dtype` as MLIR writes it: `f32`, `i32`, `bf16`, …; integers have no sign there."""

    shape: tuple[int | None, ...]
    dtype: str
    space: Space | str | None


type Type = Shaped | str
"""The type of a value; scalars have their dtype."""


@dataclass(frozen=True, slots=True)
class Op:
    """One operation. `detail` is the number of an `arith.constant`, the predicate of a comparison, the segments of a
    copy's operands, the function that is called; None where there is none, or where it is no single number."""

    name: str
    operands: tuple[int, ...]
    results: tuple[int, ...]
    detail: Any = None
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """Operations in order; `arguments` are the values that the block is given."""

    arguments: tuple[int, ...]
    ops: tuple[Op, ...]

    def walk(self) -> Iterator[Op]:
        """Every operation, outer ones first."""
        for op in self.ops:
            yield op
            for block in op.blocks:
                yield from block.walk()


@dataclass(frozen=True, slots=True)
class Window:
    """How the pipeline cuts one operand: the block's shape, and the function that gives its index (None: always the
    first). `element`: that index counts elements; `padded`: blocks may begin before or end after the array."""

    bounds: tuple[int, ...]
    transform: str | None
    element: bool = False
    padded: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """One function. `types` has the type of every value in it.

    The rest is for kernels: `grid` (None: a bound is computed), `semantics` of its axes, one of `windows` for each
    operand and result (None: it is not cut), and how many arguments are scalar-prefetch operands and scratch."""

    name: str
    body: Block
    types: tuple[Type, ...]
    names: tuple[str, ...] = ()
    grid: tuple[int | None, ...] = ()
    semantics: tuple[str, ...] = ()
    windows: tuple[Window | None, ...] = ()
    prefetch: int = 0
    scratch: int = 0


def read_functions(module: Any) -> dict[str, Function]:
    """The functions of a parsed Mosaic module, by name; the first is the kernel."""
    found = {}
    for op in module.operation.regions[0].blocks[0].operations:
        if _name(op) == "func.func":
            function = _Reader().function(op.operation)
            found[function.name] = function
    return found


class _Reader:
    """Reads one function: numbers its values."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.types: list[Type] = []

    def function(self, op: Any) -> Function:
        block = op.regions[0].blocks[0]
        body = self.block(block)
        given = op.attributes
        names = tuple(_argument_name(argument) for argument in block.arguments)
        name = ir.StringAttr(given["sym_name"]).value
        if "scalar_prefetch" not in given:
            return Function(name, body, tuple(self.types), names)
        bounds = list(ir.DenseI64ArrayAttr(given["iteration_bounds"])) if "iteration_bounds" in given else []
        return Function(
            name, body, tuple(self.types), names,
            tuple(None if n == _DYNAMIC else int(n) for n in bounds),
            tuple(_inner(axis) for axis in given["dimension_semantics"]) if "dimension_semantics" in given else (),
            tuple(map(_window, given["window_params"])) if "window_params" in given else (),
            ir.IntegerAttr(given["scalar_prefetch"]).value,
            ir.IntegerAttr(given["scratch_operands"]).value,
        )  # fmt: skip

    def block(self, block: Any) -> Block:
        arguments = tuple(self.number(argument) for argument in block.arguments)
        return Block(arguments, tuple(self.op(op.operation) for op in block.operations))

    def op(self, op: Any) -> Op:
        name = _name(op)
        operands = tuple(self.numbers[value] for value in op.operands)
        blocks = tuple(self.block(block) for region in op.regions for block in region.blocks)
        return Op(name, operands, tuple(map(self.number, op.results)), _detail(name, op), blocks)

    def number(self, value: Any) -> int:
        self.numbers[value] = len(self.types)
        self.types.append(_type(value.type))
        return self.numbers[value]


def _type(type_: Any) -> Type:
    if isinstance(type_, ir.MemRefType):
        space = type_.memory_space
        return Shaped(_shape(type_), str(type_.element_type), _SPACES.get(_inner(space)) if space else None)
    if isinstance(type_, ir.VectorType):
        return Shaped(_shape(type_), str(type_.element_type), "vector")
    return str(type_)


def _shape(type_: Any) -> tuple[int | None, ...]:
    return tuple(None if n < 0 else int(n) for n in type_.shape)


def _detail(name: str, op: Any) -> Any:
    match name:
        case "arith.constant":
            value = op.attributes["value"]
            return value.value if isinstance(value, ir.IntegerAttr | ir.FloatAttr | ir.BoolAttr) else None
        case "arith.cmpi" | "arith.cmpf":
            return ir.IntegerAttr(op.attributes["predicate"]).value
        case "func.call":
            return ir.FlatSymbolRefAttr(op.attributes["callee"]).value
    segments = "operandSegmentSizes"
    return tuple(ir.DenseI32ArrayAttr(op.attributes[segments])) if segments in op.attributes else None


def _window(params: Any) -> Window | None:
    if "window_bounds" not in params:
        return None
    function = params["transform_indices"] if "transform_indices" in params else None  # noqa: SIM401
    kind = str(params["window_kind"]) if "window_kind" in params else ""
    padding = kind.partition("<")[2]
    return Window(
        tuple(int(n) for n in ir.DenseI64ArrayAttr(params["window_bounds"])),
        function.value if isinstance(function, ir.FlatSymbolRefAttr) else None,
        "element" in kind,
        any(digit in padding for digit in "123456789"),
    )


def _argument_name(argument: Any) -> str:
    text = str(argument.location)
    return text[5:].partition('"')[0] if text.startswith('loc("') else ""


def _inner(attribute: Any) -> str:
    """`vmem` of `#tpu.memory_space<vmem>`."""
    return str(attribute).partition("<")[2].rstrip(">")


def _name(op: Any) -> str:
    return str(op.operation.name).removeprefix("stable_mosaic.")
