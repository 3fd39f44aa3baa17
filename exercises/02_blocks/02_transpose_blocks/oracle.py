"""Inputs and expected result of `transpose`."""

import numpy as np

from tutor.findings import finding


def make_inputs(rng, case):
    """Standard normal x (m, n)."""
    return {spec.name: rng.standard_normal(spec.shape).astype(np.float32) for spec in case.inputs}


def expected(inputs, case):
    return inputs["x"].T


def check(facts):
    """x reaches the kernel as it is, and the kernel's output is the result as it is: the kernel transposes."""
    turned = facts.outputs[0].shape
    for kernel in facts.kernels:
        made = [operand for operand in kernel.kernel.operands if operand.role == "output"]
        for operand in kernel.kernel.operands:
            if operand.argument == "x" and operand.shape != turned[::-1]:
                message = f"x reaches the kernel as {operand.name} of shape {tuple(operand.shape)}: it was turned outside."
                yield finding("KT314", message, line=kernel.line, ref=operand.name, case=facts.case)
        for operand, flows in zip(made, kernel.output_arguments):
            if flows == 0 and operand.shape != turned:
                message = (
                    f"The kernel's output {operand.name} has the shape {tuple(operand.shape)}, the result "
                    f"{tuple(turned)}: it was turned outside."
                )
                yield finding("KT314", message, line=kernel.line, ref=operand.name, case=facts.case)
