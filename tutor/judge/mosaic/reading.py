"""A parsed Mosaic module as records of our own: functions, blocks, operations and their attributes as Python values.

Nothing of MLIR is left in them. An attribute that is no number, text, list or array of these is its text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tutor.judge.mosaic.types import DTYPES, MOST_ELEMENTS, Type, Unknown, type_of

VERSIONS = (15,)
"""Versions of the module's format whose operations mean what the table says."""
MOST_OPERATIONS = 20_000
MOST_NESTED = 40
_PREFIX = "stable_mosaic."


@dataclass(frozen=True)
class Op:
    """One operation. Values are numbers, each given once in the whole module."""

    name: str
    operands: tuple[int, ...]
    results: tuple[int, ...]
    types: tuple[Type, ...]
    attributes: Mapping[str, Any]
    regions: tuple[Block, ...]


@dataclass(frozen=True)
class Block:
    """The arguments of a block, its operations but the last, and the values that the last one hands on."""

    arguments: tuple[int, ...]
    types: tuple[Type, ...]
    body: tuple[Op, ...]
    end: str
    handed: tuple[int, ...]


@dataclass(frozen=True)
class Function:
    """One function of a module."""

    name: str
    block: Block
    attributes: Mapping[str, Any]


def functions_of(module: Any) -> dict[str, Function]:
    """The functions of a parsed module by name, the kernel itself first.

    Raises Unknown for what no kernel of Pallas has."""
    version = plain(module.operation.attributes["stable_mosaic.version"])
    if version not in VERSIONS:
        raise Unknown(f"version {version} of Mosaic's format")
    reader = _Reader()
    found = {}
    for operation in module.operation.regions[0].blocks[0].operations:
        if str(operation.operation.name) != f"{_PREFIX}func.func":
            raise Unknown(str(operation.operation.name)[:80])
        function = reader.function(operation.operation)
        found[function.name] = function
    return found


class _Reader:
    """Numbers the values of one module."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._read = 0

    def function(self, operation: Any) -> Function:
        attributes = _attributes(operation)
        return Function(str(attributes["sym_name"]), self._block(operation.regions[0], 0), attributes)

    def _block(self, region: Any, depth: int) -> Block:
        blocks = list(region.blocks)
        if len(blocks) != 1 or depth > MOST_NESTED:
            raise Unknown("jumps between blocks" if depth <= MOST_NESTED else "bodies that are nested so deeply")
        arguments = tuple(self._number(argument) for argument in blocks[0].arguments)
        types = tuple(type_of(str(argument.type)) for argument in blocks[0].arguments)
        body = [self._operation(operation.operation, depth) for operation in blocks[0].operations]
        if not body:
            return Block(arguments, types, (), "", ())
        return Block(arguments, types, tuple(body[:-1]), body[-1].name, body[-1].operands)

    def _operation(self, operation: Any, depth: int) -> Op:
        self._read += 1
        name = str(operation.name)
        if self._read > MOST_OPERATIONS:
            raise Unknown(f"more than {MOST_OPERATIONS:,} operations")
        if not name.startswith(_PREFIX):
            raise Unknown(name[:80])
        return Op(
            name.removeprefix(_PREFIX),
            tuple(self._number(operand) for operand in operation.operands),
            tuple(self._number(result) for result in operation.results),
            tuple(type_of(str(result.type)) for result in operation.results),
            _attributes(operation),
            tuple(self._block(region, depth + 1) for region in operation.regions if len(list(region.blocks))),
        )

    def _number(self, value: Any) -> int:
        return self._numbers.setdefault(value, len(self._numbers))


def _attributes(operation: Any) -> dict[str, Any]:
    return {name: plain(operation.attributes[name]) for name in operation.attributes}


def plain(attribute: Any) -> Any:
    """An attribute as a Python value."""
    read = _PLAIN.get(type(attribute).__name__)
    return str(attribute) if read is None else read(attribute)


def _elements(attribute: Any) -> Any:
    type_ = type_of(str(attribute.type))
    if attribute.is_splat:
        return np.broadcast_to(np.asarray(plain(attribute.get_splat_value())).astype(type_.dtype), type_.shape)
    if type_.dtype in (DTYPES["bf16"], DTYPES["i1"]) or type_.size > MOST_ELEMENTS:
        raise Unknown(f"a constant of {attribute.type}"[:80])
    return np.array(attribute).reshape(type_.shape)


def _mapping(attribute: Any) -> dict[str, Any]:
    names = [named.name if hasattr(named, "name") else str(named) for named in attribute]
    return {name: plain(attribute[name]) for name in names}


_PLAIN: dict[str, Callable[[Any], Any]] = {
    "IntegerAttr": lambda a: int(a.value),
    "FloatAttr": lambda a: float(a.value),
    "BoolAttr": lambda a: bool(a.value),
    "StringAttr": lambda a: str(a.value),
    "FlatSymbolRefAttr": lambda a: str(a.value),
    "ArrayAttr": lambda a: [plain(item) for item in a],
    "DictAttr": _mapping,
    "DenseI64ArrayAttr": lambda a: [int(n) for n in a],
    "DenseI32ArrayAttr": lambda a: [int(n) for n in a],
    "DenseI8ArrayAttr": lambda a: [int(n) for n in a],
    "DenseBoolArrayAttr": lambda a: [bool(n) for n in a],
    "DenseFPElementsAttr": _elements,
    "DenseIntElementsAttr": _elements,
}
