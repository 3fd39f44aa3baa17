"""The author's kernels of a predict exercise: every function traced on the arguments that its file makes for it."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax
import numpy as np

from tutor.findings import finding
from tutor.jaxpr import compat
from tutor.jaxpr.facts import case_facts
from tutor.jaxpr.printing import marked
from tutor.protocol import ArraySpec, CaseSpec, MarkedJaxpr
from tutor.stage.attempt import CannotLoad, decode, load_module
from tutor.stage.hazards import simulate
from tutor.stage.listening import listening
from tutor.stage.tracing import CannotTrace, Trace, trace
from tutor.wire import KernelsJob, Loaded, Simulated, Traced
from tutor.workers.arrays import Array
from tutor.workers.forkserver import Send


def author_kernels(job: KernelsJob, send: Send) -> None:
    """Trace the functions that are asked for, or run the first in the simulator. What is wrong is the author's."""
    began = time.monotonic()
    module = load_module(job.file)
    functions = [(name, _function(module, name), _arguments(module, name)) for name in job.names]
    send(Loaded([], time.monotonic() - began))
    text = decode(job.file.source)
    if job.mode is not None:
        _simulate(job, text, functions[0], send)
        return
    began = time.monotonic()
    traces: list[Trace] = []
    for name, function, arguments in functions:
        try:
            traces.append(trace(function, _case(name, function, arguments), text, job.file.path))
        except CannotTrace as refused:
            send(Traced(name, [refused.finding], time.monotonic() - began))
            return
    picture: MarkedJaxpr | None = _picture(functions, job)
    for traced, (_, _, arguments) in zip(traces, functions, strict=True):
        named = zip(traced.case.inputs, arguments, strict=True)
        values = {spec.name: array for spec, array in named if np.issubdtype(array.dtype, np.integer)}
        facts = case_facts(traced.jaxpr, traced.case, values, job.file.path)
        send(Traced(traced.case.name, [], time.monotonic() - began, facts=facts, marked=picture))
        picture = None


def _picture(functions: list[tuple[str, Callable[..., Any], list[Array]]], job: KernelsJob) -> MarkedJaxpr:
    """All kernels as one program, so that they stand below each other and share their numbering."""
    shapes = [[jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arguments] for _, _, arguments in functions]

    def program(parts: list[list[Any]]) -> list[Any]:
        return [function(*part) for (_, function, _), part in zip(functions, parts, strict=True)]

    with compat.target():
        return marked(jax.make_jaxpr(program)(shapes), job.file.path, job.whole)


def _simulate(job: KernelsJob, text: str, chosen: tuple[str, Callable[..., Any], list[Array]], send: Send) -> None:
    began = time.monotonic()
    assert job.mode is not None
    name, function, arguments = chosen
    with listening() as heard:
        traced = trace(function, _case(name, function, arguments), text, job.file.path)
        outcome = simulate(traced.jaxpr, arguments, job.mode, text, job.file.path, heard=heard)
    seconds = time.monotonic() - began
    send(Simulated(name, job.mode, None, outcome.findings, outcome.printed, seconds, outcome.unavailable))


def _case(name: str, function: Callable[..., Any], arguments: list[Array]) -> CaseSpec:
    """The one case of a kernel. Its inputs are called as the function calls them."""
    names = list(inspect.signature(function).parameters)
    inputs = [
        ArraySpec(names[i] if i < len(names) else f"arg{i}", list(array.shape), str(array.dtype))
        for i, array in enumerate(arguments)
    ]
    return CaseSpec(name=name, inputs=inputs, outputs=[], static={}, sizes={})


def _function(module: ModuleType, name: str) -> Callable[..., Any]:
    found = getattr(module, name, None)
    if not callable(found):
        raise CannotLoad(finding("KT904", f"kernels.py defines no function {name}, and a question asks about it."))
    return found  # type: ignore[no-any-return]


def _arguments(module: ModuleType, name: str) -> list[Array]:
    """`make_args(name)`, or `make_args()`: a tuple for all kernels, or a dict of tuples by kernel."""
    make = getattr(module, "make_args", None)
    if not callable(make):
        raise CannotLoad(finding("KT904", "kernels.py defines no make_args."))
    given = make(name) if inspect.signature(make).parameters else make()
    if isinstance(given, dict):
        if name not in given:
            raise CannotLoad(finding("KT904", f"make_args of kernels.py gives no arguments for {name}."))
        given = given[name]
    return [np.asarray(array) for array in (given if isinstance(given, tuple | list) else (given,))]
