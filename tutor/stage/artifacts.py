"""The two artifacts of a trace: StableHLO for the CPU (kernels in interpret mode) and for the TPU (Mosaic inside)."""

from __future__ import annotations

import time
from typing import Literal

import jax
import jax.export

from tutor.findings import finding
from tutor.jaxpr import compat
from tutor.jaxpr.checks import callbacks
from tutor.jaxpr.facts import case_facts
from tutor.jaxpr.normalise import CPU_ARTIFACT, TPU_ARTIFACT
from tutor.protocol import Finding
from tutor.stage.explain.lowering import explain_lowering
from tutor.stage.explain.table import RAW_LIMIT, clean
from tutor.stage.refusals import cpu_cannot_run, interpret_refused
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
        called_back = next(callbacks(compat.closed(trace.jaxpr), path), None)
        if platform == "tpu":
            problem = explain_lowering(error, text, path, case_facts(trace.jaxpr, trace.case, None, path))
            if called_back is not None and problem.code == "KT501":
                problem = _host_callback(called_back, error, name)
        elif called_back is not None:
            problem = _host_callback(called_back, error, name)
        else:
            cannot = interpret_refused(error, trace.jaxpr)
            return Artifact(name, platform, None, [], time.monotonic() - began, unavailable=cannot)
        return Artifact(name, platform, None, [problem], time.monotonic() - began)
    mosaic = "\n".join(compat.mosaic_modules(exported)) if platform == "tpu" else None
    return Artifact(name, platform, data, [], time.monotonic() - began, mosaic=mosaic)


def _host_callback(where: Finding, error: Exception, case: str) -> Finding:
    """`where`: the rule's finding that names the line."""
    message = (
        "The program calls back into Python here. What is judged is sent to another process as data, and a TPU kernel "
        "cannot call Python either."
    )
    return finding(
        "KT124",
        message,
        line=where.line,
        column=where.column,
        case=case,
        hint=where.hint,
        raw=clean(str(error))[:RAW_LIMIT],
    )
