"""A hash of what a traced program says, so that equal programs can share their artifacts.

Names, places and addresses do not count; every primitive, parameter, type, constant and index map does."""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tutor.jaxpr.compat import Constant, Jaxpr

ADDRESS = re.compile(r" at 0x[0-9a-f]+")

SCALARS = (str, bool, int, float, type(None))


def fingerprint(jaxpr: Jaxpr) -> str:
    """SHA-256 of a program, as hexadecimal digits."""
    return hashlib.sha256("\n".join(_Writer().jaxpr(jaxpr)).encode()).hexdigest()


class _Writer:
    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.types: dict[Any, str] = {}

    def jaxpr(self, jaxpr: Jaxpr) -> Iterator[str]:
        yield "(" + ",".join(map(self.bound, (*jaxpr.constvars, *jaxpr.invars)))
        for const in getattr(jaxpr, "consts", ()):
            yield _contents(const)
        for eqn in jaxpr.eqns:
            outs, ins = ",".join(map(self.bound, eqn.outvars)), ",".join(map(self.atom, eqn.invars))
            yield f"{outs}={eqn.primitive.name} {ins}"
            for name, value in eqn.params.items():
                yield name
                yield from self.value(value)
        yield ",".join(map(self.atom, jaxpr.outvars)) + ")"

    def bound(self, var: Any) -> str:
        number = self.numbers[var] = len(self.numbers)
        return f"{number}:{self.type(var.aval)}"

    def atom(self, atom: Any) -> str:
        if isinstance(atom, Constant):
            return f"{atom.val!r}:{self.type(atom.aval)}"
        return str(self.numbers.get(atom, atom))

    def type(self, aval: Any) -> str:
        found = self.types.get(aval)
        if found is None:
            found = self.types[aval] = str(aval)
        return found

    def value(self, value: Any) -> Iterator[str]:
        """A parameter: containers and records are opened, so that jaxprs inside them count."""
        if isinstance(value, SCALARS):
            yield repr(value)
        elif isinstance(value, Jaxpr):
            yield from self.jaxpr(value)
        elif isinstance(value, tuple | list):
            yield f"{len(value)}["
            for item in value:
                yield from self.value(item)
        elif isinstance(value, Mapping):
            for key, item in value.items():
                yield str(key)
                yield from self.value(item)
        elif dataclasses.is_dataclass(value) and not isinstance(value, type | enum.Enum):
            yield type(value).__name__
            for part in dataclasses.fields(value):
                yield part.name
                yield from self.value(getattr(value, part.name))
        else:
            yield ADDRESS.sub("", str(value))


def _contents(const: Any) -> str:
    """The hash of a captured array. One of JAX's own exists only where a backend runs already."""
    try:
        return hashlib.sha256(np.asarray(const).tobytes()).hexdigest()
    except TypeError:  # a key or another array without plain contents
        return ADDRESS.sub("", str(const))
