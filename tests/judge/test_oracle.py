"""A broken oracle says where: its file, the line, and what Python said."""

from __future__ import annotations

import pytest

from tutor.judge.oracle import BrokenOracle, Oracle
from tutor.protocol import CaseSpec
from tutor.wire import OracleFile

PATH = "/somewhere/of/ones/own/01_first/01_scale/oracle.py"
CASE = CaseSpec("small", [], [], {}, {})


def words(source: str) -> str:
    with pytest.raises(BrokenOracle) as caught:
        Oracle(OracleFile(source=source.encode(), path=PATH)).expected({}, CASE)
    return str(caught.value)


def test_an_exception_is_placed_at_the_line_of_the_oracle_that_caused_it() -> None:
    source = "import json\n\ndef expected(inputs, case):\n    return read()\n\ndef read():\n    return json.loads('')\n"
    said = words(source)
    assert said.startswith("01_first/01_scale/oracle.py:7: `expected` of the oracle failed: JSONDecodeError")


def test_a_key_that_is_not_there() -> None:
    said = words("def expected(inputs, case):\n    return inputs['y']\n")
    assert said == "01_first/01_scale/oracle.py:2: `expected` of the oracle failed: KeyError: 'y'"


def test_a_function_that_is_not_there() -> None:
    assert words("x = 1\n") == "01_first/01_scale/oracle.py: the oracle defines no function `expected`."


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("x = 1\ndef expected(:\n", ":2: the oracle does not load: SyntaxError: invalid syntax"),
        ("\n\nassert False\n", ":3: the oracle does not load: AssertionError"),
        ("x = 1\0\n", "oracle.py: the oracle does not load: SyntaxError: source code string cannot contain null bytes"),
    ],
)
def test_an_oracle_that_does_not_load(source: str, said: str) -> None:
    assert words(source).endswith(said)
