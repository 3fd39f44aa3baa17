"""Inputs and expected result of `batched_scale`."""

import numpy as np

from tutor.findings import finding


def make_inputs(rng, case):
    """Standard normal x (b, m, n) and s (b, 1, n)."""
    return {spec.name: rng.standard_normal(spec.shape).astype(np.float32) for spec in case.inputs}


def expected(inputs, case):
    return inputs["x"].astype(np.float64) * inputs["s"]


def check(facts):
    """The batch axis of x is squeezed in the kernel."""
    found = []
    for kernel in facts.kernels:
        for operand in kernel.kernel.operands:
            block = operand.block_shape
            if operand.argument == "x" and block and len(block) == 3 and block[0] is not None:
                message = f"{operand.name} has blocks of {tuple(block)}: the batch axis is not squeezed."
                found.append(finding("KT314", message, line=kernel.line, ref=operand.name, case=facts.case))
    return found
