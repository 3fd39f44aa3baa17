"""Inputs, expected result and one more rule of `copy`."""

import numpy as np

from tutor.findings import finding


def make_inputs(rng, case):
    """Standard normal x (m, n)."""
    return {spec.name: rng.standard_normal(spec.shape).astype(np.float32) for spec in case.inputs}


def expected(inputs, case):
    return inputs["x"]


def check(facts):
    """The kernel copies: an alias of x onto the result leaves that to XLA."""
    for kernel in facts.kernels:
        if kernel.aliases:
            message = "The result shares its buffer with an input here, so XLA copies x before the kernel starts."
            yield finding("KT314", message, line=kernel.line, case=facts.case, hint="Leave input_output_aliases out.")
