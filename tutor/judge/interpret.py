"""`interpret`: run the CPU artifact on the judge's own inputs, and compare with the oracle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import jax
import jax.export
import numpy as np

from tutor.findings import finding
from tutor.jaxpr.compat import device_mesh
from tutor.judge.compare import Comparison, compare
from tutor.judge.given import truth
from tutor.judge.scan import scan
from tutor.judge.steps import block_shapes, step_finder, stores
from tutor.judge.tolerance import is_float
from tutor.protocol import CaseResult, CaseSpec, Finding
from tutor.wire import InterpretJob, Judged
from tutor.workers.arrays import Array, dtype_named


def interpret(job: InterpretJob) -> Judged:
    """Judge one case on every seed; the first seed that fails is the one reported, else the worst error seen."""
    against = scan(job.artifact, job.case.name, own=job.given is not None)
    if against:
        return _judged(job.case, None, against)
    exported = jax.export.deserialize(bytearray(job.artifact))
    refused = _does_not_fit(exported, job.case)
    if refused:
        return _judged(job.case, None, [refused])
    run = runner(exported)
    oracle = truth(job.oracle, job.given)
    unreferenced = job.given is not None and job.given.simulated
    worst: Comparison | None = None
    for seed in job.seeds:
        inputs = oracle.make_inputs(job.case, seed)
        try:
            got = run(list(inputs.values()))
        except Exception as error:  # the program came from the attempt's process: whatever stops it is the attempt's
            stopped = _too_large if "RESOURCE_EXHAUSTED" in str(error) else _stopped
            return _judged(job.case, None, [stopped(error, job.case)])
        if job.given is not None and job.given.expected is None:
            continue  # it runs, and there is nothing to compare with
        want = oracle.expected(inputs, job.case)
        outcome = compare(
            got,
            want,
            job.case,
            job.tolerance,
            step_of=step_finder(job.facts),
            blocks=block_shapes(job.facts),
            stores=stores(job.facts),
        )
        if any(problem.severity == "error" for problem in outcome.findings):
            found = list(map(_disagrees, outcome.findings)) if unreferenced else outcome.findings
            return _judged(job.case, outcome, [*found, *(job.facts.doubts if job.facts else ())])
        if worst is None or (outcome.error.relative_l2 or 0) > (worst.error.relative_l2 or 0):
            worst = outcome
        if unreferenced and (doubt := _nan_out_of_nothing(inputs.values(), got, job.case)):
            return _judged(job.case, worst, [doubt])
    return _judged(job.case, worst, worst.findings if worst else [])


def _too_large(error: Exception, case: CaseSpec) -> Finding:
    message = (
        "Interpret mode runs every array of the kernel, and its blocks and scratch, in ordinary memory. That asked for "
        "more than a run may use."
    )
    hint = "Make the arrays and the scratch smaller; a few blocks along every axis show the same."
    return finding("KT207", message, raw=str(error)[:2000], case=case.name, hint=hint)


def _stopped(error: Exception, case: CaseSpec) -> Finding:
    said = str(error).partition("\n")[0][:200]
    message = f"The program could not be run, with {type(error).__name__}: {said}"
    return finding("KT205", message, raw=str(error)[:2000], case=case.name)


def runner(exported: jax.export.Exported) -> Callable[[list[Array]], list[Array]]:
    """An artifact as a function of NumPy arrays, on as many of the host's devices as it is made for."""
    call = jax.jit(exported.call)
    count = exported.nr_devices
    if count == 1:
        return lambda inputs: [np.asarray(leaf) for leaf in jax.tree.leaves(call(*inputs))]
    mesh = device_mesh(exported, jax.devices()[:count])
    everywhere = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    wanted = exported.in_shardings_jax(mesh)

    def run(inputs: list[Array]) -> list[Array]:
        placed = [jax.device_put(x, s or everywhere) for x, s in zip(inputs, wanted, strict=True)]
        return [np.asarray(leaf) for leaf in jax.tree.leaves(call(*placed))]

    return run


def _disagrees(found: Finding) -> Finding:
    """Without a reference it is not known which of the two is right."""
    message = (
        "The file gives no `reference`, so interpret mode is compared with the simulator of TPU memory, and the two "
        f"disagree. What interpret mode gives, beside what the simulator gives: {found.message}"
    )
    hint = "They differ where memory matters: aliased buffers, memory that nothing wrote, copies that overlap."
    return finding("KT212", message, case=found.case, hint=hint, ref=found.ref, line=found.line, column=found.column)


def _nan_out_of_nothing(inputs: Iterable[Array], got: Sequence[Array], case: CaseSpec) -> Finding | None:
    """KT202 as a warning: NaN in the result and none in the inputs, and no reference that could want it."""
    if any(is_float(a.dtype) and np.isnan(a.astype(np.float32)).any() for a in inputs):
        return None
    for number, array in enumerate(got):
        if is_float(array.dtype) and (count := int(np.isnan(array.astype(np.float32)).sum())):
            message = (
                f"{count:,} of {array.size:,} elements of output {number} are NaN, and no input holds any. Memory that "
                "nothing wrote is NaN here, in interpret mode and in the simulator alike."
            )
            hint = "Add a `reference(*args)` to the file: if it gives NaN there too, all is well."
            return finding("KT202", message, severity="warning", case=case.name, hint=hint)
    return None


def _does_not_fit(exported: jax.export.Exported, case: CaseSpec) -> Finding | None:
    """The artifact must take the case's inputs and give its outputs, whatever the stager said of it."""
    takes = [(tuple(aval.shape), np.dtype(aval.dtype)) for aval in exported.in_avals]
    gives = [(tuple(aval.shape), np.dtype(aval.dtype)) for aval in exported.out_avals]
    inputs = [(tuple(spec.shape), dtype_named(spec.dtype)) for spec in case.inputs]
    outputs = [(tuple(spec.shape), dtype_named(spec.dtype)) for spec in case.outputs]
    if takes == inputs and (gives == outputs or not outputs):
        return None
    return finding("KT204", "The program takes or gives other arrays than the exercise asks for.", case=case.name)


def _judged(case: CaseSpec, outcome: Comparison | None, findings: list[Finding]) -> Judged:
    failed = any(problem.severity == "error" for problem in findings)
    result = CaseResult(case.name, "failed" if failed else "passed", outcome.error if outcome else None)
    return Judged(case=case.name, result=result, findings=findings, seconds=0.0)
