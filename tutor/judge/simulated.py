"""`hazards`, the judge's half: the stager's arrays against the oracle, on the same inputs."""

from __future__ import annotations

from tutor.findings import finding
from tutor.judge.compare import compare
from tutor.judge.given import truth
from tutor.judge.steps import block_shapes, step_finder, stores
from tutor.protocol import CaseResult
from tutor.wire import CompareJob, Judged
from tutor.workers.arrays import unpack


def compare_simulated(job: CompareJob) -> Judged:
    """Judge what the simulator returned. The arrays come from the learner's process, so nothing of them is trusted."""
    oracle = truth(job.oracle, job.given)
    inputs = oracle.make_inputs(job.case, job.seed)
    want = oracle.expected(inputs, job.case)
    try:
        arrays = unpack(job.outputs)
        got = [arrays[f"out{number}"] for number in range(len(want))]
    except (ValueError, KeyError) as error:
        problem = finding(
            "KT411", "The simulated run gave no arrays that can be read.", raw=str(error), case=job.case.name
        )
        return Judged(job.case.name, CaseResult(job.case.name, "failed"), [problem], 0.0)
    step_of, blocks = step_finder(job.facts), block_shapes(job.facts)
    outcome = compare(
        got, want, job.case, job.tolerance, step_of=step_of, simulated=True, blocks=blocks, stores=stores(job.facts)
    )
    failed = any(problem.severity == "error" for problem in outcome.findings)
    result = CaseResult(job.case.name, "failed" if failed else "passed", outcome.error)
    return Judged(job.case.name, result, outcome.findings, 0.0)
