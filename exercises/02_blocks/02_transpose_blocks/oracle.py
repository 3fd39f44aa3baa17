"""Inputs and expected result of `transpose`."""

import numpy as np

from tutor.findings import finding


def make_inputs(rng, case):
    """Standard normal x (m, n)."""
    return {spec.name: rng.standard_normal(spec.shape).astype(np.float32) for spec in case.inputs}


def expected(inputs, case):
    return inputs["x"].T


def check(facts):
    """x reaches the kernel as it is: the kernel transposes."""
    for kernel in facts.kernels:
        for operand in kernel.kernel.operands:
            if operand.argument == "x" and operand.shape != facts.outputs[0].shape[::-1]:
                message = f"x reaches the kernel as {operand.name} of shape {tuple(operand.shape)}: it was turned outside."
                yield finding("KT314", message, line=kernel.line, ref=operand.name, case=facts.case)
