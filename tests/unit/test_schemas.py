"""The JSON Schemas in `docs/schemas` are those of the Structs."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
spec = importlib.util.spec_from_file_location("make_schemas", DOCS / "make_schemas.py")
assert spec is not None and spec.loader is not None
make_schemas = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make_schemas)


@pytest.mark.parametrize("name", make_schemas.SCHEMAS)
def test_schema_is_up_to_date(name: str) -> None:
    written = (DOCS / "schemas" / f"{name}.schema.json").read_bytes()
    assert written == make_schemas.schema(name), "run `python docs/make_schemas.py`"
