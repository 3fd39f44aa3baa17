"""What a stage child does for each kind of job: load, trace, then what was asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
from jax.experimental import pallas as pl

from tutor.jaxpr import compat
from tutor.jaxpr.checks import look
from tutor.jaxpr.facts import case_facts
from tutor.jaxpr.fingerprint import fingerprint
from tutor.jaxpr.printing import marked
from tutor.protocol import CaseFacts, CaseSpec, Finding
from tutor.stage import artifacts
from tutor.stage.attempt import CannotLoad, check_signature, decode, load
from tutor.stage.author_kernels import author_kernels
from tutor.stage.hazards import simulate, too_big, too_big_finding
from tutor.stage.inspection import own_call, prepare
from tutor.stage.listening import listening
from tutor.stage.tracing import CannotTrace, Trace, trace
from tutor.wire import (
    ArtifactJob,
    Attempt,
    HazardJob,
    Job,
    KernelsJob,
    Loaded,
    PrepareJob,
    Simulated,
    Traced,
    TraceJob,
)
from tutor.workers.arrays import pack, unpack
from tutor.workers.forkserver import Send


def run(job: Job, send: Send) -> None:
    """Do one job in this child and send what comes of it. A refusal to load or trace is always said."""
    try:
        if isinstance(job, TraceJob):
            _trace(job, send)
        elif isinstance(job, ArtifactJob):
            _artifacts(job, send)
        elif isinstance(job, HazardJob):
            _hazards(job, send)
        elif isinstance(job, PrepareJob):
            send(prepare(job.attempt))
        elif isinstance(job, KernelsJob):
            author_kernels(job, send)
        else:
            raise TypeError(f"the stage server has no {type(job).__name__}")
    except (CannotLoad, CannotTrace) as refused:
        send(Loaded([refused.finding], 0.0))


def _entry(attempt: Attempt) -> Callable[..., Any]:
    """What is called with a case's arrays."""
    return own_call(attempt) if attempt.own else load(attempt)


def _trace(job: TraceJob, send: Send) -> None:
    began = time.monotonic()
    entry = _entry(job.attempt)
    text = decode(job.attempt.source)
    if not job.attempt.own:
        check_signature(entry, job.attempt, job.cases[0])
    send(Loaded([], time.monotonic() - began))
    for position, case in enumerate(job.cases):
        began = time.monotonic()
        try:
            traced = trace(entry, case, text, job.attempt.path, job.chip)
        except CannotTrace as refused:
            send(Traced(case.name, [refused.finding], time.monotonic() - began))
            continue
        picture = marked(traced.jaxpr, job.attempt.path, job.whole) if position == 0 else None
        facts = _facts(traced, job.values.get(case.name), text, job.attempt.path)
        send(Traced(case.name, [], time.monotonic() - began, facts=facts, marked=picture))


def _facts(traced: Trace, packed: bytes | None, text: str, path: str) -> CaseFacts:
    values = unpack(packed) if packed else {}
    facts = case_facts(traced.jaxpr, traced.case, values, path)
    by_position = {i: values[spec.name] for i, spec in enumerate(traced.case.inputs) if spec.name in values}
    found, doubts = look(traced.jaxpr, by_position, path, source=text)
    return msgspec.structs.replace(
        facts,
        suspects=[_in_case(problem, traced.case) for problem in found],
        doubts=[_in_case(problem, traced.case) for problem in doubts],
    )


def _in_case(problem: Finding, case: CaseSpec) -> Finding:
    return msgspec.structs.replace(problem, case=case.name)


def _artifacts(job: ArtifactJob, send: Send) -> None:
    entry = _entry(job.attempt)
    text = decode(job.attempt.source)
    for platform in job.platforms:
        chips = job.chips if platform == "tpu" else job.chips[:1]
        for case in job.cases:
            for traced, shared in _by_chip(entry, case, text, job.attempt.path, chips):
                made = artifacts.export(traced, platform, text, job.attempt.path)
                sha256 = fingerprint(compat.closed(traced.jaxpr))
                send(msgspec.structs.replace(made, chips=shared, jaxpr_sha256=sha256))


def _by_chip(
    entry: Callable[..., Any], case: CaseSpec, text: str, path: str, chips: Sequence[str]
) -> Iterator[tuple[Trace, list[str]]]:
    """The different programs that the chips get, each with the chips it is for. Mostly there is only one."""
    programs: dict[str, tuple[Trace, list[str]]] = {}
    for chip in chips:
        traced = trace(entry, case, text, path, chip)
        key = fingerprint(traced.jaxpr.jaxpr) if len(chips) > 1 else ""
        programs.setdefault(key, (traced, []))[1].append(chip)
    yield from programs.values()


def _hazards(job: HazardJob, send: Send) -> None:
    began = time.monotonic()
    entry = _entry(job.attempt)
    text = decode(job.attempt.source)
    arrays = unpack(job.inputs)
    inputs = [arrays[spec.name] for spec in job.case.inputs]
    with listening() as heard:
        traced = trace(entry, job.case, text, job.attempt.path, job.chip)
        if cannot := _too_big(job, traced):
            said = [too_big_finding(cannot)]
            send(Simulated(job.case.name, job.mode, None, said, "", time.monotonic() - began, unavailable=cannot))
            return
        outcome = simulate(
            traced.jaxpr, inputs, job.mode, text, job.attempt.path,
            chip=traced.chip, own=job.attempt.own is not None, heard=heard,
        )  # fmt: skip
    outputs = None
    if outcome.outputs is not None:
        outputs = pack({f"out{i}": array for i, array in enumerate(outcome.outputs)})
    send(
        Simulated(
            case=job.case.name,
            mode=job.mode,
            outputs=outputs,
            findings=[_in_case(problem, job.case) for problem in outcome.findings],
            printed=outcome.printed,
            seconds=time.monotonic() - began,
            unavailable=outcome.unavailable,
            jaxpr_sha256=fingerprint(compat.closed(traced.jaxpr)),
        )
    )


def _too_big(job: HazardJob, traced: Trace) -> str | None:
    """Why an inspected kernel is not simulated. An exercise's hazard case is small by its own proof."""
    if job.attempt.own is None:
        return None
    facts = case_facts(traced.jaxpr, traced.case, None, job.attempt.path)
    return too_big([kernel.kernel for kernel in facts.kernels])


def warm() -> None:
    """Trace a small kernel in the server, so that its forks find JAX's caches warm. This starts no backend."""
    with compat.target():
        jax.make_jaxpr(_double)(jax.ShapeDtypeStruct((8, 128), jnp.float32))


def _double(x: jax.Array) -> jax.Array:
    def kernel(x_ref: Any, o_ref: Any) -> None:
        o_ref[...] = x_ref[...] * 2

    spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return pl.pallas_call(kernel, grid=(1,), in_specs=[spec], out_specs=spec, out_shape=shape)(x)
