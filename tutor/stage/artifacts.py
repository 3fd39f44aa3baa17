"""The two artifacts of a trace: StableHLO for the CPU (kernels in interpret mode) and for the TPU (Mosaic inside)."""

from __future__ import annotations

import time
from typing import Literal

import jax
import jax.export

from tutor.findings import finding
from tutor.jaxpr import compat
from tutor.jaxpr.normalise import for_cpu, for_tpu
from tutor.jaxpr.rebind import evaluate
from tutor.stage.explain.lowering import explain_lowering
from tutor.stage.tracing import Trace
from tutor.wire import Artifact

Platform = Literal["cpu", "tpu"]


def export(trace: Trace, platform: Platform, text: str, path: str) -> Artifact:
    """Export one trace. The learner's errors become findings; what this judge cannot run is `unavailable`."""
    began = time.monotonic()
    name = trace.case.name
    cannot = compat.cpu_cannot_run(trace.jaxpr) if platform == "cpu" else None
    if cannot:
        return Artifact(name, platform, None, [], time.monotonic() - began, unavailable=cannot)
    jaxpr = for_cpu(trace.jaxpr) if platform == "cpu" else for_tpu(trace.jaxpr)
    run = jax.jit(lambda *args: evaluate(jaxpr, args, platform == "cpu"))
    try:
        with compat.target():
            exported = jax.export.export(run, platforms=[platform])(*trace.arguments)
            data = bytes(exported.serialize())
    except MemoryError:
        raise
    except Exception as error:
        if platform == "tpu":
            problem = explain_lowering(error, text, path)
        else:
            message = f"Interpret mode cannot run this kernel: {type(error).__name__}: {error}"
            problem = finding("KT205", message, raw=str(error), case=name)
        return Artifact(name, platform, None, [problem], time.monotonic() - began)
    mosaic = compat.mosaic_text(exported) if platform == "tpu" else None
    return Artifact(name, platform, data, [], time.monotonic() - began, mosaic=mosaic)
