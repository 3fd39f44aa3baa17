"""How much a program computes: arithmetic on numbers, counted by kind, and its constants, inside kernels and outside.

The CPU and the TPU artifact are lowered from one jaxpr, for one target, so both do the same arithmetic: over the whole
built-in set they agree to the operation. Index arithmetic, which only one of them has, does not count: it is on
integers that are scalars, or makes the index vectors of a strided access."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import jax.export

from tutor.jaxpr.compat import mlir_modules, operations
from tutor.jaxpr.index_vectors import making_indices

_OUTSIDE: dict[str, str] = {
    "multiply": "mul", "add": "add", "subtract": "add", "negate": "add", "divide": "div", "remainder": "rem",
    "exponential": "exp", "log": "log", "log_plus_one": "log", "tanh": "tanh", "sqrt": "sqrt", "rsqrt": "rsqrt",
    "power": "pow", "sine": "sin", "cosine": "cos", "tan": "tan", "maximum": "max", "minimum": "min", "abs": "abs",
    "floor": "floor", "ceil": "ceil", "dot_general": "dot", "atan2": "atan2",
}  # fmt: skip
"""StableHLO's names."""
_INSIDE: dict[str, tuple[str, ...]] = {
    "arith.mulf": ("mul",), "arith.muli": ("mul",), "arith.addf": ("add",), "arith.addi": ("add",),
    "arith.subf": ("add",), "arith.subi": ("add",), "arith.negf": ("add",), "arith.divf": ("div",),
    "arith.divsi": ("div",), "tpu.reciprocal": ("div",), "arith.remf": ("rem",), "arith.remsi": ("rem",),
    "math.exp": ("exp",), "math.exp2": ("exp", "mul"), "math.log": ("log",), "math.log2": ("log", "mul"),
    "math.log1p": ("log",), "math.tanh": ("tanh",), "math.sqrt": ("sqrt",), "math.rsqrt": ("rsqrt",),
    "math.powf": ("pow",), "math.sin": ("sin",), "math.cos": ("cos",), "math.tan": ("tan",), "math.atan2": ("atan2",),
    "arith.maximumf": ("max",), "arith.maxnumf": ("max",), "arith.maxsi": ("max",), "arith.minimumf": ("min",),
    "arith.minnumf": ("min",), "arith.minsi": ("min",), "math.absf": ("abs",), "math.absi": ("abs",),
    "math.floor": ("floor",), "math.ceil": ("ceil",), "tpu.matmul": ("dot",),
}  # fmt: skip
"""Mosaic's names. A TPU has `exp2` and `log2`; elsewhere they are made with a multiplication."""
_REDUCTIONS = {"add": "add", "maximumf": "max", "maxsi": "max", "minimumf": "min", "minsi": "min"}
_CONSTANT = re.compile(r"(?:dense<([-+.\deE]+)> : \w+<(?:[\dx]*x)?|([-+.\deE]+) : )b?f\d+>?$")
CONSTANT = "constant "
UNSTEADY = (0.0, 1.0, 0.693, 1.44)
"""Constants (to three digits) that only one of both may have: a TPU makes `any` of ones and zeros, and a CPU `1 / x` of
a one, and `exp2` and `log2` of the logarithm of two."""
_SERIES = ("math.erf",)
"""What a TPU has and a CPU makes of many additions and multiplications."""
IN_SERIES = ("mul", "add", "div")
ALSO_FOR_OTHERS = ("max", "min", "abs", "floor", "ceil")
"""A TPU makes `any`, `sign` and rounding of these."""
WHOLE = "integer "
"""A TPU divides and sums integers with more operations."""


def arithmetic(exported: jax.export.Exported) -> Counter[str]:
    """All arithmetic of an artifact, by kind, and every constant once. `erf` counts under its own name."""
    with mlir_modules(exported) as (module, kernels):
        counted = _outside(module, making_indices(operations(module.operation)))
        constants = _constants(module, "stablehlo.constant")
        for _, mosaic in kernels:
            counted += _inside(mosaic)
            constants |= _constants(mosaic, "arith.constant")
        return counted + Counter(constants)


def arithmetic_outside(module: Any) -> Counter[str]:
    """The arithmetic of a parsed StableHLO module; what is inside its kernels does not count."""
    return _outside(module, set())


def _outside(module: Any, left_out: set[Any]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for operation in operations(module.operation):
        kind = _OUTSIDE.get(operation.name.removeprefix("stablehlo."))
        if kind is not None and operation not in left_out:
            counted.update(_named(operation, (kind,)))
    return counted


def _constants(module: Any, name: str) -> set[str]:
    """The floats that stand alone, or fill an array, to three digits."""
    found = set()
    for operation in operations(module.operation):
        if str(operation.name).removeprefix("stable_mosaic.") == name:
            told = _CONSTANT.match(str(operation.attributes["value"]))
            number = float(f"{float(told[1] or told[2]):.3g}") if told else 0.0
            if abs(number) not in UNSTEADY:
                found.add(f"{CONSTANT}{number:g}")
    return found


def _inside(mosaic: Any) -> Counter[str]:
    counted: Counter[str] = Counter()
    for operation in operations(mosaic.operation):
        name = str(operation.name).removeprefix("stable_mosaic.")
        if name in _SERIES:
            counted[name] += 1
        elif name in ("vector.multi_reduction", "tpu.all_reduce"):
            found = re.search(r"<(\w+)>", str(operation.attributes["kind"]))
            counted.update(_named(operation, (_REDUCTIONS[found[1]],) if found and found[1] in _REDUCTIONS else ()))
        else:
            counted.update(_named(operation, _INSIDE.get(name, ())))
    return counted


def _named(operation: Any, kinds: tuple[str, ...]) -> list[str]:
    """The kinds as they count: those of floats of every shape, and of integers that are no scalars and no truth values,
    which count apart."""
    if not kinds or not operation.results:
        return []
    text = str(operation.results[0].type)
    if re.search(r"(?:^|[x<])b?f\d", text):
        return list(kinds)
    whole = re.match(r"(?:tensor|vector)<[\dx?]*\dx[su]?i(?!1\b)\d", text)
    return [f"{WHOLE}{kind}" for kind in kinds] if whole else []


def disagreements(cpu: Counter[str], tpu: Counter[str]) -> list[str]:
    """The kinds of arithmetic of which one program does more than the other, in words."""
    cpu, tpu = cpu.copy(), tpu.copy()
    # A product with a single row may become a multiplication and a sum.
    spread = max(0, min(cpu["dot"] - tpu["dot"], tpu["mul"] - cpu["mul"], tpu["add"] - cpu["add"]))
    tpu["dot"] += spread
    tpu["mul"] -= spread
    tpu["add"] -= spread
    series = any(tpu[name] for name in _SERIES)
    left_out = (*_SERIES, *(IN_SERIES if series else ()))
    kinds = [kind for kind in sorted({*cpu, *tpu}) if kind not in left_out]
    if series:
        kinds = [kind for kind in kinds if not kind.startswith(CONSTANT)]
    return [
        f"{kind} {cpu[kind]} and {tpu[kind]} times"
        for kind in kinds
        if cpu[kind] > tpu[kind] or (cpu[kind] < tpu[kind] and not _may_be_more(kind))
    ]


def _may_be_more(kind: str) -> bool:
    return kind in ALSO_FOR_OTHERS or kind.startswith(WHOLE)
