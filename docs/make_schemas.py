"""Write the JSON Schemas of our files and records, made from the Structs: `python docs/make_schemas.py`."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tutor.grade.overrides import OverrideFile
from tutor.grade.records import GradeRecord, StudentReport
from tutor.protocol import Bench, CommandError, Sweep, Verdict
from tutor.record import Document
from tutor.sets import ExerciseManifest, SetManifest
from tutor.sets.manifest import HiddenManifest
from tutor.sets.packed import Pack
from tutor.sets.submission import Submission

SCHEMAS = {
    "set.toml": SetManifest,
    "exercise.toml": ExerciseManifest,
    "hidden.toml": HiddenManifest,
    "verdict": Verdict,
    "tune": Sweep,
    "bench": Bench,
    "error": CommandError,
    "record": GradeRecord,
    "report": StudentReport,
    "overrides.toml": OverrideFile,
    "progress": Document,
    "submission": Submission,
    "pack": Pack,
}
FOLDER = Path(__file__).parent / "schemas"


def schema(name: str) -> bytes:
    """The schema of one kind of file or record, as indented JSON."""
    described = {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(SCHEMAS[name])}
    return msgspec.json.format(msgspec.json.encode(described), indent=1) + b"\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in SCHEMAS:
        (FOLDER / f"{name}.schema.json").write_bytes(schema(name))
