"""Facts and TPU artifacts of kernels that are traced in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.export
import numpy as np
from kernel_samples import HERE, traced

from tutor.jaxpr.compat import target
from tutor.jaxpr.facts import case_facts
from tutor.jaxpr.normalise import TPU_ARTIFACT
from tutor.judge.witness import compare_witnesses
from tutor.protocol import ArraySpec, CaseFacts, CaseSpec

type Made = tuple[bytes, CaseFacts, CaseSpec, dict[str, np.ndarray]]
"""An artifact, what the trace says of it, the case, and the integer inputs."""


def made(function: Callable[..., Any], inputs: Mapping[str, Any]) -> Made:
    """`function` on inputs with these names: arrays of integers, whose contents count, or shapes."""
    shapes = {name: jax.ShapeDtypeStruct(x.shape, x.dtype) for name, x in inputs.items()}
    values = {name: x for name, x in inputs.items() if isinstance(x, np.ndarray) and x.dtype.kind in "iu"}
    specs = [ArraySpec(name, list(s.shape), str(s.dtype)) for name, s in shapes.items()]
    case = CaseSpec(name="case", inputs=specs, outputs=[], static={}, sizes={})
    jaxpr = traced(function, *shapes.values())
    with target():
        run = jax.jit(TPU_ARTIFACT.as_function(jaxpr))
        artifact = bytes(jax.export.export(run, platforms=["tpu"])(*shapes.values()).serialize())
    return artifact, case_facts(jaxpr, case, values, HERE), case, values


def said(of: Made, facts: CaseFacts | None = None) -> list[tuple[str, str]]:
    """What the second witness says, of other facts if they are given: code and message."""
    artifact, told, case, values = of
    return [(found.code, found.message) for found in compare_witnesses(artifact, facts or told, case, values)]
