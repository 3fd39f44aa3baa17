"""What is said of an exercise's oracle that fails."""

from __future__ import annotations

import pytest

from tutor.judge.oracle import BrokenOracle, Oracle
from tutor.protocol import CaseSpec
from tutor.wire import OracleFile

SOURCE = b"def helper():\n    return {}['x']\n\n\ndef make_inputs(rng, case):\n    return helper()\n"


def test_it_names_the_line_and_no_path() -> None:
    oracle = Oracle(OracleFile(path="/somewhere/oracle.py", source=SOURCE))
    with pytest.raises(BrokenOracle, match=r"^make_inputs of the oracle failed in line 2 of oracle.py: KeyError: 'x'$"):
        oracle.make_inputs(CaseSpec(name="small", inputs=[], outputs=[], static={}, sizes={}), 0)
