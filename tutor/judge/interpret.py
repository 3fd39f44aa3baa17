"""`interpret`: run the CPU artifact on the judge's own inputs, and compare with the oracle."""

from __future__ import annotations

import jax
import jax.export
import numpy as np

from tutor.findings import finding
from tutor.judge.compare import Comparison, compare
from tutor.judge.oracle import Oracle
from tutor.judge.steps import block_shapes, step_finder
from tutor.protocol import CaseResult, CaseSpec, Finding
from tutor.wire import InterpretJob, Judged
from tutor.workers.arrays import dtype_named


def interpret(job: InterpretJob) -> Judged:
    """Judge one case on every seed; the first seed that fails is the one reported, else the worst error seen."""
    refused = _does_not_fit(job)
    if refused:
        return _judged(job.case, None, [refused])
    run = jax.jit(jax.export.deserialize(bytearray(job.artifact)).call)
    oracle = Oracle(job.oracle)
    worst: Comparison | None = None
    for seed in job.seeds:
        inputs = oracle.make_inputs(job.case, seed)
        want = oracle.expected(inputs, job.case)
        got = [np.asarray(leaf) for leaf in jax.tree.leaves(run(*inputs.values()))]
        outcome = compare(
            got, want, job.case, job.tolerance, step_of=step_finder(job.facts), blocks=block_shapes(job.facts)
        )
        if any(problem.severity == "error" for problem in outcome.findings):
            return _judged(job.case, outcome, outcome.findings)
        if worst is None or (outcome.error.relative_l2 or 0) > (worst.error.relative_l2 or 0):
            worst = outcome
    return _judged(job.case, worst, worst.findings if worst else [])


def _does_not_fit(job: InterpretJob) -> Finding | None:
    """The artifact must take the case's inputs and give its outputs, whatever the stager said of it."""
    exported = jax.export.deserialize(bytearray(job.artifact))
    takes = [(tuple(aval.shape), np.dtype(aval.dtype)) for aval in exported.in_avals]
    gives = [(tuple(aval.shape), np.dtype(aval.dtype)) for aval in exported.out_avals]
    inputs = [(tuple(spec.shape), dtype_named(spec.dtype)) for spec in job.case.inputs]
    outputs = [(tuple(spec.shape), dtype_named(spec.dtype)) for spec in job.case.outputs]
    if takes == inputs and (gives == outputs or not outputs):
        return None
    return finding("KT204", "The program takes or gives other arrays than the exercise asks for.", case=job.case.name)


def _judged(case: CaseSpec, outcome: Comparison | None, findings: list[Finding]) -> Judged:
    failed = any(problem.severity == "error" for problem in findings)
    result = CaseResult(case.name, "failed" if failed else "passed", outcome.error if outcome else None)
    return Judged(case=case.name, result=result, findings=findings, seconds=0.0)
