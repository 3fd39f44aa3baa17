"""Inputs, expected result and one more rule of `rotate_halves`."""

import math

import numpy as np

from tutor.findings import finding


def make_inputs(rng, case):
    """Standard normal x (m, 2h), float32."""
    return {"x": rng.standard_normal(case.inputs[0].shape).astype(np.float32)}


def expected(inputs, case):
    """The right half negated, then the left half."""
    left, right = np.split(inputs["x"], 2, axis=1)
    return np.concatenate([-right, left], axis=1)


def check(facts):
    """Loads and stores carry every element once: in a grid step no more bytes than the block has."""
    for kernel in facts.kernels:
        for operand in kernel.kernel.operands:
            if operand.argument != "x" and operand.role != "output":
                continue
            kinds, word = (("load",), "loaded") if operand.role == "input" else (("store", "accumulate"), "stored")
            touched = [a for a in kernel.kernel.accesses if a.ref == operand.name and a.kind in kinds]
            if any(access.bytes_per_step is None for access in touched):
                continue
            moved = sum(access.bytes_per_step for access in touched)
            block = 4 * math.prod(n or 1 for n in operand.block_shape or operand.shape)
            if moved > block:
                message = (
                    f"In a grid step, {moved:,} bytes of {operand.name} are {word}; "
                    f"the block has {block:,}. Some elements make the trip more than once."
                )
                yield finding("KT314", message, line=touched[-1].line, ref=operand.name, case=facts.case)
