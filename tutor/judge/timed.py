"""A timing's truth: what is right for its first inputs, and whether its timed repeats were right.

The oracle is Python of the set, so it runs here, in a run of the judge, and never where the chip is open."""

from __future__ import annotations

from tutor.findings import finding
from tutor.judge.compare import compare
from tutor.judge.oracle import Oracle
from tutor.protocol import CaseResult
from tutor.wire import Expected, ExpectedJob, Judged, RepeatJob
from tutor.workers.arrays import numbered, pack, unpack


def expected(job: ExpectedJob) -> Expected:
    """The right outputs of one set of inputs."""
    oracle = Oracle(job.oracle)
    outputs = oracle.expected(oracle.make_inputs(job.case, job.seed), job.case)
    return Expected(job.case.name, pack(numbered(outputs)))


def repeated(job: RepeatJob) -> Judged:
    """One timed repeat against the oracle: KT706 if it is wrong, since the program was right before the clock ran."""
    name, repeat = job.case.name, job.repeat
    given, got = unpack(repeat.inputs), unpack(repeat.outputs)
    want = Oracle(job.oracle).expected({spec.name: given[spec.name] for spec in job.case.inputs}, job.case)
    outcome = compare([got[f"out{n}"] for n in range(len(got))], want, job.case, job.tolerance)
    wrong = next((found for found in outcome.findings if found.severity == "error"), None)
    if wrong is None:
        return Judged(name, CaseResult(name, "passed", outcome.error), [], 0.0)
    message = f"The outputs of timed repeat {repeat.number} are wrong: {wrong.message}"
    found = finding("KT706", message, raw=wrong.raw, case=name)
    return Judged(name, CaseResult(name, "failed", outcome.error), [found], 0.0)
