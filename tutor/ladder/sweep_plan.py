"""Which block sizes a sweep tries: the integer keywords of an entry, and sensible values for each. Pure."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from tutor.protocol import CaseFacts, Operand

MOST = 32
LANES = 128
SUBLANE_BYTES = 32
"""A register holds 8 rows of 32-bit numbers, 16 of 16-bit ones, 32 of bytes."""
ITEM_BYTES = {"64": 8, "32": 4, "16": 2, "8": 1, "4": 1}


class CannotTune(Exception):
    """There is nothing to sweep, in words, and what to do about it."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class Wanted:
    """What a sweep is asked for: values by keyword (none: sensible ones of every keyword), and how many choices."""

    values: Mapping[str, Sequence[int]] = field(default_factory=dict)
    most: int = MOST


@dataclass(frozen=True)
class Span:
    """What one keyword cuts into blocks: arrays so long along that axis, in pieces that are multiples of `tile`."""

    lengths: frozenset[int]
    tile: int


def block_keywords(source: bytes, entry: str) -> dict[str, int]:
    """The parameters of `entry` whose default is a plain integer above zero, read from the syntax tree.

    Nothing of the program is run, so what is computed or decorated away is not seen."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    wanted = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == entry]
    if not wanted:
        return {}
    arguments = wanted[-1].args
    positional = [*arguments.posonlyargs, *arguments.args]
    with_default = positional[len(positional) - len(arguments.defaults) :]
    pairs = [*zip(with_default, arguments.defaults, strict=True)]
    pairs += [(name, value) for name, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value]
    plain = {name.arg for name in arguments.posonlyargs}
    return {
        name.arg: value.value
        for name, value in pairs
        if isinstance(value, ast.Constant) and type(value.value) is int and value.value > 0 and name.arg not in plain
    }


def probes(own: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """For each keyword, the same call with that keyword changed, to see which blocks follow it."""
    return {name: {**own, name: value // 2 if value % 2 == 0 else value * 2} for name, value in own.items()}


def span(base: CaseFacts, probe: CaseFacts) -> Span | None:
    """What the changed keyword cuts: the axes whose blocks are other ones than before; None if there are none."""
    found: list[tuple[int, int]] = []
    for before, after in zip(base.kernels, probe.kernels, strict=False):
        for one, other in zip(before.kernel.operands, after.kernel.operands, strict=False):
            found += _changed(one, other)
    if not found:
        return None
    return Span(frozenset(length for length, _ in found), max(tile for _, tile in found))


def _changed(one: Operand, other: Operand) -> Iterator[tuple[int, int]]:
    """Length of the axis, and the tile that its blocks should keep to."""
    if one.block_shape is None or other.block_shape is None or len(one.block_shape) != len(one.shape):
        return
    last = len(one.shape) - 1
    for axis, (mine, theirs) in enumerate(zip(one.block_shape, other.block_shape, strict=False)):
        if mine != theirs:
            rows = SUBLANE_BYTES // next((n for bits, n in ITEM_BYTES.items() if one.dtype.endswith(bits)), 4)
            yield one.shape[axis], LANES if axis == last else rows if axis == last - 1 else 1


def sensible(value: int, cuts: Span | None) -> list[int]:
    """Values worth trying for a keyword that is `value` now: its tile times powers of two, up to the shortest axis.

    Only what divides the axes, unless `value` itself does not: a grid of `n // block` steps would leave out the rest.
    Where nothing is known of the keyword: half and double, and half and double of these."""
    if cuts is None:
        around = {value * 4, value * 2, value} | {value // n for n in (2, 4) if value % n == 0}
        return sorted(around)
    shortest = min(cuts.lengths)
    powers = [cuts.tile << n for n in range(max(1, shortest).bit_length()) if cuts.tile << n <= shortest]
    found = {*powers, shortest}
    if all(length % value == 0 for length in cuts.lengths):
        divides = {n for n in range(cuts.tile, shortest + 1, cuts.tile) if shortest % n == 0}
        found = {n for n in found | _spread(divides) if all(length % n == 0 for length in cuts.lengths)}
    return sorted(found | {value})


def _spread(values: set[int]) -> set[int]:
    """Values at least a factor of about two apart: more would only say the same again."""
    kept: list[int] = []
    for value in sorted(values):
        if not kept or value >= 1.9 * kept[-1]:
            kept.append(value)
    return set(kept)


def thinned(values: Mapping[str, Sequence[int]], own: Mapping[str, int], most: int) -> dict[str, list[int]]:
    """At most `most` combinations: those nearest to the values of now, each keyword growing in turn."""
    nearest = {
        name: sorted(some, key=lambda value: (abs(math.log2(value / own[name])), -value))
        for name, some in values.items()
    }
    kept = {name: some[:1] for name, some in nearest.items()}
    growing = True
    while growing:
        growing = False
        for name, some in nearest.items():
            longer = len(kept[name]) + 1
            others = math.prod(len(kept[other]) for other in kept if other != name)
            if longer <= len(some) and longer * others <= most:
                kept[name] = some[:longer]
                growing = True
    return {name: sorted(some) for name, some in kept.items()}


def combinations(values: Mapping[str, Sequence[int]], own: Mapping[str, int]) -> list[dict[str, int]]:
    """Every combination; keywords that are not swept stay as they are."""
    names = list(values)
    return [{**own, **dict(zip(names, some, strict=True))} for some in product(*(values[name] for name in names))]
