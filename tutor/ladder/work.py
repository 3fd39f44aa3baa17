"""What a program does, as the roofline needs it: summed over its kernels from the facts of one case."""

from __future__ import annotations

import re
from collections import Counter
from math import ceil, prod

import msgspec

from tutor.protocol import ArraySpec, CaseFacts, CaseSpec, KernelFacts, Reached, ToleranceSpec, Work
from tutor.roof import Roof, least_us

BF16_REL_L2, BF16_ELEMENTWISE = 2.0**-8, 2.0**-6


def work_of(facts: CaseFacts | None, case: CaseSpec) -> Work | None:
    """The work of one run of the program; None where not even the largest branches can be counted."""
    if facts is None or any(kernel.operations is None for kernel in facts.kernels):
        return None
    total: Counter[str] = Counter()
    for kernel in facts.kernels:
        assert kernel.operations is not None
        total.update(kernel.operations.by_rate)
    moved = [n for kernel in facts.kernels for n in (kernel.kernel.bytes_in, kernel.kernel.bytes_out)]
    return Work(
        operations=dict(total),
        moved=None if None in moved else sum(n for n in moved if n is not None),
        least=_least(facts, case),
        exact=all(kernel.operations.exact for kernel in facts.kernels if kernel.operations),
    )


def _least(facts: CaseFacts, case: CaseSpec) -> int:
    """Bytes that must move: every output once (one that aliases an input may keep what is there), and of the inputs
    that are read in blocks each block that is visited. What the kernel copies itself does not count, nor do scalars."""
    blocks: dict[str, int] = {}
    aliased = False
    for kernel in facts.kernels:
        argument = {operand.name: operand.argument for operand in kernel.kernel.operands if operand.role == "input"}
        aliased |= bool(kernel.aliases)
        for staged in kernel.staged:
            name = argument.get(staged.operand)
            if name and name != "fresh":
                blocks[name] = max(blocks.get(name, 0), staged.least_bytes)
    sizes = {spec.name: array_bytes(spec) for spec in case.inputs}
    read = sum(min(count, sizes.get(name, count)) for name, count in blocks.items())
    return read + (0 if aliased else sum(map(array_bytes, facts.outputs)))


def array_bytes(spec: ArraySpec) -> int:
    """The size of an array in HBM."""
    bits = re.search(r"\d+", spec.dtype)  # bool has none, and takes a byte
    return ceil(prod(spec.shape) * int(bits[0] if bits else 8) / 8)


def reached(work: Work | None, of: Roof | None, us: float) -> Reached:
    """What a program reached that took `us`; without a roof only its rates.

    The floor only holds what no compiler can leave out: products, and what must be read and written once."""
    if work is None or not us > 0:
        return Reached()
    rates = Reached(
        bytes_per_s=None if work.moved is None else work.moved / us * 1e6,
        flops_per_s=sum(work.operations.values()) / us * 1e6,
    )
    if of is None:
        return rates
    products = {rate: n for rate, n in work.operations.items() if rate != "vector" and work.exact}
    return msgspec.structs.replace(
        rates,
        roof_share=None if work.moved is None else least_us(of, work.operations, work.moved) / us,
        least_us=least_us(of, products, work.least),
    )


def device_tolerance(facts: CaseFacts | None, tolerance: ToleranceSpec) -> ToleranceSpec:
    """A TPU multiplies float32 in one pass of bf16 below `precision=HIGHEST`: then the bounds are those of bf16."""
    if facts is None or not any(map(_rounds, facts.kernels)):
        return tolerance
    return msgspec.structs.replace(
        tolerance,
        rel_l2=max(tolerance.rel_l2 or 0.0, BF16_REL_L2),
        elementwise=max(tolerance.elementwise or 0.0, BF16_ELEMENTWISE),
    )


def _rounds(kernel: KernelFacts) -> bool:
    return any(
        "float32" in (dot.lhs_dtype, dot.rhs_dtype) and "HIGHEST" not in (dot.precision or "").upper()
        for dot in kernel.dots
    )
