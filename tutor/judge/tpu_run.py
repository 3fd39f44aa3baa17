"""The TPU artifact is run here, and what it computes is held against the oracle.

`interpret` runs another artifact, and both come from the process that ran the learner's Python. So the kernels that
are meant for a TPU are worked out in NumPy (`judge/mosaic`), on inputs that `interpret` has as well. Other numbers have
three reasons: memory, which interpret mode forgives and a TPU does not; roundings to 16 bits, which it leaves out; or
another program. A second run tells which: in it memory behaves as in interpret mode."""

from __future__ import annotations

from collections.abc import Sequence

from tutor.findings import finding
from tutor.judge.compare import compare
from tutor.judge.mosaic.machine import MOST_WORK, Stopped, TooMuch
from tutor.judge.mosaic.program import Program
from tutor.judge.mosaic.types import Unknown
from tutor.protocol import CaseSpec, Finding, ToleranceSpec
from tutor.workers.arrays import Array

ROUNDING = 2.0
"""How much of a bound the TPU program may use. Sums in another order may leave the bound that `interpret` just kept."""
NARROW = ToleranceSpec(rel_l2=2**-6, elementwise=2**-4)
"""How far roundings to bfloat16 between operations take a result, which XLA on a CPU leaves out."""


class TpuRuns:
    """Runs of the TPU artifacts of one attempt, which share a budget."""

    def __init__(self, tolerance: ToleranceSpec, work: float = MOST_WORK) -> None:
        self._tolerance = tolerance
        self._left = work

    def check(self, program: Program, case: CaseSpec, inputs: Sequence[Array], want: Sequence[Array]) -> list[Finding]:
        """KT393, KT395 or KT396 where the TPU artifact gives other numbers than the oracle; KT394 where it cannot be
        run."""
        try:
            wrong = self._wrong(program, case, inputs, want, self._tolerance)
            if wrong is None:
                return []
            if self._wrong(program, case, inputs, want, self._tolerance, as_interpret=True) is None:
                return [_memory(wrong, case)]
            if program.rounds and self._wrong(program, case, inputs, want, NARROW, as_interpret=True) is None:
                return [_rounded(wrong, case)]
        except (Unknown, TooMuch) as reason:
            return [not_run(case, reason)]
        except Exception as error:  # a program that is none may make XLA or NumPy stumble in any way
            return [not_run(case, error)]
        message = (
            "The program for TPU computes something else than the one that interpret mode ran. "
            f"{wrong} Both must come from one kernel."
        )
        return [finding("KT393", message, case=case.name)]

    def _wrong(
        self,
        program: Program,
        case: CaseSpec,
        inputs: Sequence[Array],
        want: Sequence[Array],
        tolerance: ToleranceSpec,
        *,
        as_interpret: bool = False,
    ) -> str | None:
        """What is wrong with the numbers of a run, in words; None if nothing is."""
        if self._left <= 0:
            raise TooMuch("operations, all cases together")
        try:
            ran = program.run(inputs, work=self._left, as_interpret=as_interpret)
        except Stopped as reason:
            self._left -= MOST_WORK / 100
            return f"It does not come to its end: {reason}."
        self._left -= ran.work
        outcome = compare(ran.outputs, want, case, tolerance)
        if outcome.share <= ROUNDING:
            return None
        return outcome.findings[0].message if outcome.findings else "Its numbers are others."


def not_run(case: CaseSpec, reason: Exception) -> Finding:
    """`KT394`: why the TPU artifact was not run."""
    if isinstance(reason, TooMuch):
        said = f"it takes more than is run here ({reason})"
    elif isinstance(reason, Unknown):
        said = f"it uses what cannot be run here: {reason}"
    else:
        said = f"it stopped with {type(reason).__name__}"
    message = f"What the program for TPU computes was not tried out on this machine: {said}."
    return finding("KT394", message, severity="note", raw=str(reason)[:2000] or None, case=case.name)


def _memory(wrong: str, case: CaseSpec) -> Finding:
    message = (
        "With memory as a TPU has it the program gives other numbers, and as interpret mode has it the right ones. It "
        "depends on memory that nobody wrote, on a copy that was not waited for, or on elements outside of a Ref. "
        f"{wrong}"
    )
    hint = "What `hazards` says names the place."
    return finding("KT395", message, severity="warning", case=case.name, hint=hint)


def _rounded(wrong: str, case: CaseSpec) -> Finding:
    message = (
        "The kernel computes with floats of 16 bits. A TPU rounds after every operation, and interpret mode, on a CPU, "
        f"leaves some of these roundings out: there the numbers are right, and here they are not. {wrong}"
    )
    return finding("KT396", message, severity="warning", case=case.name, hint="Compute in float32, and round once.")
