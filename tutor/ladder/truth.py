"""What a timing is judged by: inputs and right outputs, and the word on what was timed, all from runs of the judge."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from tutor.ladder.runs import Failed, Runs
from tutor.ladder.work import array_bytes
from tutor.protocol import CaseSpec, Finding, Limits, ToleranceSpec
from tutor.wire import (
    Broken,
    Ended,
    Expected,
    ExpectedJob,
    Inputs,
    InputsJob,
    Judged,
    OracleFile,
    Repeated,
    RepeatJob,
)

POOL, POOL_OF_INTEGERS = 4, 16
"""Sets of inputs that a timing draws from. Floats are made new in every repeat (`judge/device/fresh`); where there are
none, nothing is, so there are more sets."""
LIMITS = Limits(wall_seconds=60, cpu_seconds=120, data_bytes=8 << 30, reply_bytes=480 << 20)
"""Timing cases are large: an oracle that works in float64 needs several times what its arrays do."""
MOST_BYTES = 448 << 20
"""The largest set of inputs, or of outputs as float64, that fits into one frame with room to spare."""


class Truth(NamedTuple):
    """`.npz` bytes: sets of inputs, and the right outputs for the first of them."""

    sets: list[bytes]
    expected: bytes


def too_large(case: CaseSpec) -> str | None:
    """Why the arrays of a case cannot be handed over; None if they can."""
    inputs = sum(map(array_bytes, case.inputs))
    outputs = sum(8 * prod(spec.shape) for spec in case.outputs)
    if max(inputs, outputs, inputs + sum(map(array_bytes, case.outputs))) <= MOST_BYTES:
        return None
    return f"the arrays of case {case.name} are too large to be handed to the process that holds the chip"


async def truth_of(runs: Runs, oracle: OracleFile, case: CaseSpec, seed: int) -> Truth:
    """Inputs from `seed` on, made by the judge. `Failed` if the oracle is at fault."""
    floats = any(spec.dtype.startswith(("float", "bfloat")) for spec in case.inputs)
    sets: list[bytes] = []
    for number in range(POOL if floats else POOL_OF_INTEGERS):
        made = await _one(runs, InputsJob(oracle, case, seed + number, limits=LIMITS), Inputs)
        sets.append(made.data)
    right = await _one(runs, ExpectedJob(oracle, case, seed, LIMITS), Expected)
    return Truth(sets, right.data)


async def recheck(
    runs: Runs, oracle: OracleFile, case: CaseSpec, tolerance: ToleranceSpec, repeats: Sequence[Repeated]
) -> Finding | None:
    """The first of these timed repeats that was wrong; None if all were right."""
    for repeat in repeats:
        judged = await _one(runs, RepeatJob(oracle, case, repeat, tolerance, LIMITS), Judged)
        if judged.findings:
            return judged.findings[0]
    return None


async def _one[Answer: Inputs | Expected | Judged](
    runs: Runs, job: InputsJob | ExpectedJob | RepeatJob, kind: type[Answer]
) -> Answer:
    """The one answer of a run of the judge."""
    found: Answer | None = None
    why = "the run gave no answer"
    async for answer in runs.ask(runs.judge, job):
        if isinstance(answer, Broken):
            raise Failed(answer)
        if isinstance(answer, kind):
            found = answer
        elif isinstance(answer, Ended) and answer.how != "done":
            why = f"the run ended early: {answer.how} {answer.detail}".strip()
    if found is None:
        raise Failed(Broken(f"The oracle could not be asked about case {job.case.name}: {why}.", ""))
    return found
