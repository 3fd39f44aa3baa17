"""Inputs and expected result of `wide_matmul`."""

import ml_dtypes
import numpy as np

from tutor.findings import finding


def make_inputs(rng, case):
    """Standard normal a (64, k) and b (k, n), rounded to bfloat16."""
    return {spec.name: rng.standard_normal(spec.shape).astype(ml_dtypes.bfloat16) for spec in case.inputs}


def expected(inputs, case):
    """The product in float32: its rounding is far below that of a bfloat16 result, and float64 is slow here."""
    return inputs["a"].astype(np.float32) @ inputs["b"].astype(np.float32)


def check(facts):
    """The kernel takes the VMEM limit of its chip as it is."""
    found = []
    for kernel in facts.kernels:
        if kernel.vmem_limit_bytes is not None:
            message = f"This kernel asks for {kernel.vmem_limit_bytes:,} bytes with vmem_limit_bytes."
            found.append(finding("KT314", message, line=kernel.line, case=facts.case))
    return found
