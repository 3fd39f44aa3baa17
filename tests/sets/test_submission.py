"""A submission says what it holds, tells nothing of its maker, and is not believed when it is read back."""

from __future__ import annotations

import datetime
import getpass
import hashlib
import platform
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutor.sets import ExerciseSet, SetError, load_set
from tutor.sets.archive import archive_files
from tutor.sets.submission import MANIFEST, MAX_DOUBTS, Submission, doubts, make_submission, read_submission

NOON = datetime.datetime(2030, 1, 31, 13, 0, 0, 99, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))
SOURCE = b"def scale(x, *, bm):\n    return x * 2\n"


def submitted(tiny: Path, student: str | None = "ada") -> tuple[Submission, bytes]:
    exercises = load_set(tiny)
    attempts = [(exercises.exercise("guess"), b"loads_x = 1\n"), (exercises.exercise("scale"), SOURCE)]
    return make_submission(exercises, attempts, student=student, created=NOON)


def handed_in(tiny: Path, **changes: Any) -> tuple[dict[str, bytes], ExerciseSet]:
    """The files of a submission whose manifest was changed."""
    manifest, data = submitted(tiny)
    files = archive_files(data, "ada.zip")
    files[MANIFEST] = msgspec.json.encode(msgspec.structs.replace(manifest, **changes))
    return files, load_set(tiny)


def test_what_is_in_it(tiny: Path) -> None:
    manifest, data = submitted(tiny)
    files = archive_files(data, "ada.zip")
    assert set(files) == {MANIFEST, "01_refs/01_scale.py", "02_blocks/01_guess.py"}
    assert files["01_refs/01_scale.py"] == SOURCE
    assert read_submission(files) == manifest
    assert (manifest.student, manifest.set, manifest.created) == ("ada", "tiny", "2030-01-31T12:00:00Z")
    assert manifest.set_sha256 == load_set(tiny).public_sha256
    assert [(f.exercise, f.file) for f in manifest.files] == [
        ("scale", "01_refs/01_scale.py"), ("guess", "02_blocks/01_guess.py"),
    ]  # fmt: skip
    assert manifest.files[0].sha256 == hashlib.sha256(SOURCE).hexdigest()
    assert set(manifest.versions) == {"python", "kerneltutor", "jax"}


def test_the_same_again_and_nothing_of_its_maker(tiny: Path) -> None:
    data = submitted(tiny)[1]
    assert submitted(tiny)[1] == data
    text = archive_files(data, "x")[MANIFEST].decode()
    for secret in (str(tiny), str(tiny.parent), str(Path.home()), platform.node(), getpass.getuser()):
        assert f'"{secret}' not in text and f"{secret}/" not in text


@pytest.mark.parametrize("student", ["", " ", "a/b", "..", "-rf", "a\nb", "a\x1b[2J", "\u202eada", "x" * 101, "a\\b"])
def test_ids_that_are_no_names(tiny: Path, student: str) -> None:
    with pytest.raises(SetError, match="student's id"):
        submitted(tiny, student)


def test_an_honest_one_has_no_doubts(tiny: Path) -> None:
    files, exercises = handed_in(tiny)
    assert doubts(files, exercises, "ada") == []
    assert doubts({"scale.py": SOURCE}, exercises, "ada") == []


def test_a_file_that_was_exchanged(tiny: Path) -> None:
    files, exercises = handed_in(tiny)
    files["01_refs/01_scale.py"] = b"other"
    (found,) = doubts(files, exercises)
    assert found.code == "KT851" and "01_refs/01_scale.py" in (found.evidence or "")


def test_files_that_are_missing_or_too_many(tiny: Path) -> None:
    files, exercises = handed_in(tiny)
    del files["01_refs/01_scale.py"]
    files["scale.py"] = SOURCE
    files["notes.txt"] = b""
    assert [(d.code, d.evidence) for d in doubts(files, exercises)] == [
        ("KT852", "01_refs/01_scale.py"), ("KT852", "scale.py"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "code"),
    [({"set": "other"}, "KT853"), ({"set_sha256": "0" * 64}, "KT854"), ({"student": "bob"}, "KT855")],
)
def test_what_does_not_agree(tiny: Path, changes: dict[str, Any], code: str) -> None:
    files, exercises = handed_in(tiny, **changes)
    assert [d.code for d in doubts(files, exercises, "ada")] == [code]


def test_a_set_that_changed_in_its_public_part(tiny: Path) -> None:
    files, _ = handed_in(tiny)
    (tiny / "solutions/01_refs/01_scale/hidden.toml").write_text("")
    assert doubts(files, load_set(tiny)) == []
    (tiny / "exercises/01_refs/01_scale/lesson.md").write_text("# Other\n")
    assert [d.code for d in doubts(files, load_set(tiny))] == ["KT854"]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"schema": 1}',
        b"\xff",
        b"[" * 100_000,
        b'{"student": "\\ud800"}',
        b" " * (2 << 20),
    ],
)
def test_a_manifest_that_is_none(tiny: Path, text: bytes) -> None:
    files, exercises = handed_in(tiny)
    files[MANIFEST] = text
    assert [d.code for d in doubts(files, exercises)] == ["KT850"]


def test_another_schema(tiny: Path) -> None:
    files, exercises = handed_in(tiny, schema="kerneltutor.submission/2")
    (found,) = doubts(files, exercises)
    assert found.code == "KT850" and "knows kerneltutor.submission/1" in (found.evidence or "")


def test_doubts_are_short_and_few(tiny: Path) -> None:
    files, exercises = handed_in(tiny, set="x" * 5000)
    files |= {f"{i}.py": b"" for i in range(500)}
    found = doubts(files, exercises)
    assert len(found) == MAX_DOUBTS and all(len(d.evidence or "") < 300 for d in found)


@given(
    st.recursive(st.none() | st.booleans() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=3)),
    st.sampled_from(Submission.__struct_fields__),
)
def test_wrong_types_are_told(value: object, field: str) -> None:
    manifest = Submission(student=None, set="s", set_sha256="", created="", versions={}, files=[])
    text = msgspec.json.encode({**msgspec.to_builtins(manifest), field: value})
    try:
        found = read_submission({MANIFEST: text})
    except SetError as error:
        assert MANIFEST in error.message
    else:
        assert found is not None and msgspec.to_builtins(found)[field] == value
