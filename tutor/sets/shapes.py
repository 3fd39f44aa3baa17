"""Sizes: from the names and products that a manifest writes to numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tutor.sets.manifest import Dim, Number


class UnknownSize(KeyError):
    """A dimension uses a name that the case gives no size to. `args[0]` is that name."""


def dimension(dim: Dim, sizes: Mapping[str, int]) -> int:
    """The number that `dim` stands for: a number, a size name, or a product such as "a*b" or "2*m"."""
    if isinstance(dim, int):
        return dim
    product = 1
    for factor in factors(dim):
        if factor.isdecimal():
            product *= int(factor)
        elif factor in sizes:
            product *= sizes[factor]
        else:
            raise UnknownSize(factor)
    return product


def factors(dim: Dim) -> list[str]:
    """The parts of a product."""
    return [part.strip() for part in str(dim).split("*")]


def shape_of(shape: Sequence[Dim], sizes: Mapping[str, int]) -> list[int]:
    """A shape with every dimension a number."""
    return [dimension(dim, sizes) for dim in shape]


def static_of(static: Mapping[str, Number], sizes: Mapping[str, int]) -> dict[str, int | float | str | bool]:
    """Keyword arguments of a call: a text is the name of a size, or a product of them."""
    return {key: dimension(value, sizes) if isinstance(value, str) else value for key, value in static.items()}
