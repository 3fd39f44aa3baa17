"""The static table, proved on the built-in set: every reference and `right_*` is run by the evaluator that counts."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from builtin_programs import check_cases, elements, exercises, name_of, programs, traced
from counting import Tally, run_program
from test_counting_proof import each_access, each_operand

from tutor.jaxpr.facts import case_facts
from tutor.judge.oracle import Oracle
from tutor.protocol import CaseSpec, KernelFacts
from tutor.wire import OracleFile

LARGEST = 200_000
"""Elements of all inputs: larger cases take long and repeat what the small ones show."""


def quick_cases(slug: str) -> list[CaseSpec]:
    """The cases that are run: the two smallest, as far as they are small."""
    first, *others = check_cases(slug)
    return [first, *(case for case in others[:1] if elements(case) <= LARGEST)]


def agree(facts: KernelFacts, tally: Tally) -> None:
    """No step did more than the sums say, one without branches just as much; and the bytes are those that moved."""
    kernel = facts.kernel
    branches = any(access.branch for access in kernel.accesses)
    stores = None if None in (kernel.stores, kernel.accumulates) else (kernel.stores or 0) + (kernel.accumulates or 0)
    for said, did in (
        (kernel.loads, tally.most("get")),
        (stores, tally.most("swap", "addupdate")),
        (kernel.copies, tally.most("dma_start")),
    ):
        if said is not None:
            assert said >= did if branches else said == did
    assert (kernel.bytes_in, kernel.bytes_out) == (tally.bytes_in, tally.bytes_out)


@pytest.mark.parametrize(("slug", "path"), programs(), ids=name_of)
def test_counts_and_bytes(slug: str, path: Path) -> None:
    file = exercises()[slug].oracle
    oracle = Oracle(OracleFile(file.read_bytes(), str(file)))
    for case in quick_cases(slug):
        trace = traced(slug, path, case)
        inputs = oracle.make_inputs(case, 0)
        outputs, ran = run_program(trace.jaxpr, list(inputs.values()))
        integers = {name: array for name, array in inputs.items() if array.dtype.kind in "iu"}
        facts = case_facts(trace.jaxpr, case, integers, str(path)).kernels
        for (eqn, tally), found in zip(ran, facts, strict=True):
            each_access(eqn, tally)
            each_operand(found, tally)
            agree(found, tally)
        for got, want in zip(outputs, oracle.expected(inputs, case), strict=True):  # a wrong replay proves nothing
            error = np.linalg.norm(got.astype(np.float64) - want) / np.linalg.norm(want)
            assert error < (1e-2 if got.dtype.itemsize < 4 else 1e-4)


@pytest.mark.parametrize("wrong", ["loads", "stores", "bytes_in", "bytes_out"])
def test_a_wrong_count_is_noticed(wrong: str) -> None:
    case = check_cases("two_loads")[0]
    reference = exercises()["two_loads"].reference
    assert reference is not None
    trace = traced("two_loads", reference, case)
    _, ((_, tally),) = run_program(trace.jaxpr, [np.zeros(spec.shape, np.float32) for spec in case.inputs])
    (found,) = case_facts(trace.jaxpr, case, {}, str(reference)).kernels
    agree(found, tally)
    kernel = msgspec.structs.replace(found.kernel, **{wrong: getattr(found.kernel, wrong) + 1})
    with pytest.raises(AssertionError):
        agree(msgspec.structs.replace(found, kernel=kernel), tally)
