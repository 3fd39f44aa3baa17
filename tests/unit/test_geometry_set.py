"""The second witness on the built-in set: no right answer is contradicted, and all that the facts tell is confirmed."""

from __future__ import annotations

from pathlib import Path

import pytest
from builtin_programs import check_cases, exercises, name_of, programs, traced

from tutor.jaxpr.facts import case_facts
from tutor.judge.oracle import Oracle
from tutor.judge.witness import compare_witnesses
from tutor.stage.artifacts import export
from tutor.wire import OracleFile


@pytest.mark.parametrize(("slug", "path"), programs(), ids=name_of)
def test_nothing_is_contradicted_or_left_open(slug: str, path: Path) -> None:
    file = exercises()[slug].oracle
    oracle = Oracle(OracleFile(file.read_bytes(), str(file)))
    for case in check_cases(slug)[:2]:
        trace = traced(slug, path, case)
        artifact = export(trace, "tpu", path.read_text(), str(path)).data
        assert artifact is not None
        inputs = oracle.make_inputs(case, 0)
        integers = {name: array for name, array in inputs.items() if array.dtype.kind in "iu"}
        facts = case_facts(trace.jaxpr, case, integers, str(path))
        assert [found.message for found in compare_witnesses(artifact, facts, case, integers)] == []
