"""The two artifacts of a trace: StableHLO for the CPU (kernels in interpret mode) and for the TPU (Mosaic inside)."""

from __future__ import annotations

import time
from typing import Literal

import jax
import jax.export

from tutor.findings import finding
from tutor.jaxpr import compat
from tutor.jaxpr.facts import case_facts
from tutor.jaxpr.normalise import CPU_ARTIFACT, TPU_ARTIFACT
from tutor.stage.explain.lowering import explain_lowering
from tutor.stage.refusals import cpu_cannot_run, refused_for_alias
from tutor.stage.tracing import Trace
from tutor.wire import Artifact

Platform = Literal["cpu", "tpu"]


def export(trace: Trace, platform: Platform, text: str, path: str) -> Artifact:
    """Export one trace. The learner's errors become findings; what this judge cannot run is `unavailable`."""
    began = time.monotonic()
    name = trace.case.name
    cannot = cpu_cannot_run(trace.jaxpr) if platform == "cpu" else None
    if cannot:
        return Artifact(name, platform, None, [], time.monotonic() - began, unavailable=cannot)
    rebinding = CPU_ARTIFACT if platform == "cpu" else TPU_ARTIFACT
    run = jax.jit(rebinding.as_function(trace.jaxpr))
    try:
        with compat.target_chip(trace.chip):
            exported = jax.export.export(run, platforms=[platform])(*trace.arguments)
            data = bytes(exported.serialize())
    except MemoryError:
        raise
    except Exception as error:
        if platform == "cpu" and (cannot := refused_for_alias(error, trace.jaxpr)):
            return Artifact(name, platform, None, [], time.monotonic() - began, unavailable=cannot)
        if platform == "tpu":
            problem = explain_lowering(error, text, path, case_facts(trace.jaxpr, trace.case, None, path))
        else:
            message = f"Interpret mode cannot run this kernel: {type(error).__name__}: {error}"
            problem = finding("KT205", message, raw=str(error), case=name)
        return Artifact(name, platform, None, [problem], time.monotonic() - began)
    mosaic = "\n".join(compat.mosaic_modules(exported)) if platform == "tpu" else None
    return Artifact(name, platform, data, [], time.monotonic() - began, mosaic=mosaic)
