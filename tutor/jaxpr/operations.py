"""What a kernel works out over its whole grid: matrix products by the rate of their unit, and elementwise work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import prod

from tutor.jaxpr.arrays import Array
from tutor.jaxpr.kernels import KernelParts
from tutor.jaxpr.nest import Level, Node, per_step
from tutor.jaxpr.notation import parameter
from tutor.jaxpr.replay import times_run
from tutor.protocol import Operations

ELEMENTWISE = frozenset({
    "add", "sub", "mul", "div", "rem", "neg", "abs", "sign", "max", "min", "clamp", "integer_pow", "square", "pow",
    "floor", "ceil", "round", "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "xor", "not", "shift_left",
    "shift_right_logical", "shift_right_arithmetic", "select_n", "is_finite", "exp", "exp2", "expm1", "log", "log1p",
    "tanh", "logistic", "rsqrt", "sqrt", "reciprocal", "sin", "cos", "tan", "erf", "erf_inv", "cbrt", "atan2",
    "nextafter", "population_count", "clz",
})  # fmt: skip
"""One operation for each element of the result. How many cycles it takes is another matter."""

REDUCING = frozenset({
    "reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or", "reduce_xor", "argmax",
    "argmin", "cumsum", "cummax", "cummin", "cumprod", "cumlogsumexp",
})  # fmt: skip
"""One operation for each element of the operand."""


def operations(
    level: Level, parts: KernelParts, grid: Sequence[int | None], steps: int | None, values: Sequence[Array | None]
) -> Operations | None:
    """The work of a kernel with this grid; None where not even the largest branches can be counted.

    Scalars (rank 0) are worked out beside the vector unit and do not count. `values` are the contents of the operands,
    None where unknown: they may decide branches and loops."""
    if steps is None:
        return None
    counted = [node for node in level.walk() if rate(node) is not None]
    if all(node.times is not None and not node.branch for node in counted):
        return Operations(_sum((node, (node.times or 0) * steps) for node in counted), exact=True)
    known = times_run(level, parts, grid, values, lambda node: rate(node) is not None)
    if known is not None:
        return Operations(_sum(known), exact=True)
    by_rate: dict[str, int] = {}
    for name in {found for node in counted if (found := rate(node))}:
        most = per_step(level, lambda node, name=name: elements(node) if rate(node) == name else 0)  # type: ignore[misc]
        if most is None:
            return None
        by_rate[name] = most * steps
    return Operations(by_rate, exact=False)


def rate(node: Node) -> str | None:
    """The rate that an equation's work is counted by (`roof.RATES`); None if it does none."""
    name = node.eqn.primitive.name
    if name == "dot_general":
        return product_rate(str(node.eqn.invars[0].aval.dtype), str(node.eqn.invars[1].aval.dtype), node)
    if name in ELEMENTWISE and node.eqn.outvars[0].aval.shape:
        return "vector"
    return "vector" if name in REDUCING else None


def product_rate(lhs: str, rhs: str, node: Node) -> str:
    """Mixed factors are multiplied as the wider one."""
    names = (lhs, rhs)
    if "float32" in names:
        return "f32" if "HIGHEST" in _precision(node) else "bf16"
    if any(name.startswith("float8") for name in names):
        return "bf16" if "bfloat16" in names else "fp8"
    if all(name in ("int4", "uint4") for name in names):
        return "int4"
    return "int8" if all(name in ("int8", "uint8", "int4", "uint4") for name in names) else "bf16"


def elements(node: Node) -> int:
    """Operations of one execution."""
    eqn = node.eqn
    if eqn.primitive.name == "dot_general":
        (contracted, _), _ = eqn.params["dimension_numbers"]
        inner = prod(int(eqn.invars[0].aval.shape[axis]) for axis in contracted)
        return 2 * inner * prod(int(n) for n in eqn.outvars[0].aval.shape)
    var = eqn.invars[0] if eqn.primitive.name in REDUCING else eqn.outvars[0]
    return prod(int(n) for n in var.aval.shape)


def _precision(node: Node) -> str:
    said = node.eqn.params.get("precision")
    return "" if said is None else parameter(said).upper()


def _sum(counted: Iterable[tuple[Node, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for node, times in counted:
        total[rate(node) or ""] += elements(node) * times
    return {name: n for name, n in total.items() if n}
