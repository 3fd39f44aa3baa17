"""A submission: one archive of a student's attempts with a manifest, `submission.json`, and reading it back.

The manifest makes honest mistakes visible: a file that was damaged on the way, a set that has changed meanwhile, an
archive that was handed in under another name. A student can write whatever they like into it, so nobody's score
follows from it: it is compared with the files and the set, and what does not agree is a `Doubt`.
"""

from __future__ import annotations

import datetime
import hashlib
import platform
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from itertools import islice

import msgspec

from tutor.protocol import Record
from tutor.sets.archive import write_archive
from tutor.sets.errors import SetError
from tutor.sets.exercise import Exercise
from tutor.sets.loading import ExerciseSet

SCHEMA = "kerneltutor.submission/1"
MANIFEST = "submission.json"
MAX_MANIFEST = 1 << 20
MAX_DOUBTS = 50
_ID_LENGTH = 100
_NOT_FIRST = (".", "-", "=", "+", "@")
_NOT_IN_NAMES = '/\\:*?"<>|'


class SubmittedFile(Record, frozen=True, kw_only=True):
    """One attempt in the archive: its exercise's slug, its name in the archive, its sha256."""

    exercise: str
    file: str
    sha256: str


class Submission(Record, frozen=True, kw_only=True):
    """`submission.json`. `set_sha256` is the hash of the set's public part; `created` is the sender's own clock, and no
    proof of when anything was handed in. There is no path, user or machine in it."""

    schema: str = SCHEMA
    student: str | None
    set: str
    set_sha256: str
    created: str
    versions: dict[str, str]
    files: list[SubmittedFile]


class Doubt(Record, frozen=True):
    """What a manifest says and the files or the set do not: a finding's code, words for the student too, and evidence
    for the instructor."""

    code: str
    message: str
    evidence: str | None = None


def make_submission(
    exercises: ExerciseSet,
    attempts: Iterable[tuple[Exercise, bytes]],
    *,
    student: str | None,
    created: datetime.datetime,
) -> tuple[Submission, bytes]:
    """The manifest and the archive of these attempts. The archive follows from the arguments and the versions alone.

    `SetError` if `student` cannot be the name of a file. `created` needs a time zone."""
    if student is not None:
        check_student(student)
    files = {f"{exercise.chapter}/{exercise.file_name}": source for exercise, source in attempts}
    slugs = {f"{exercise.chapter}/{exercise.file_name}": exercise.slug for exercise in exercises.exercises}
    manifest = Submission(
        student=student,
        set=exercises.id,
        set_sha256=exercises.public_sha256,
        created=created.astimezone(datetime.UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z"),
        versions={
            "python": platform.python_version(),
            **{name: package_version(name) for name in ("kerneltutor", "jax")},
        },
        files=[
            SubmittedFile(exercise=slugs[name], file=name, sha256=hashlib.sha256(files[name]).hexdigest())
            for name in sorted(files)
        ],
    )
    text = msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"
    return manifest, write_archive({MANIFEST: text, **files})


def check_student(student: str) -> None:
    """`SetError` if an id cannot be the name of a file everywhere, or is a formula to a spreadsheet."""
    edges = student[:1] in _NOT_FIRST or student[-1:] in (".", "") or student != student.strip()
    if edges or not student.isprintable() or any(sign in _NOT_IN_NAMES for sign in student):
        hint = "It becomes a file's name and a cell of a table: letters and digits are best."
        raise SetError(f"{student!r} cannot be a student's id.", hint)
    if len(student.encode()) > _ID_LENGTH:
        raise SetError(f"A student's id has at most {_ID_LENGTH} bytes.")


def read_submission(files: Mapping[str, bytes]) -> Submission | None:
    """The manifest of a submission's files (by name); None if it has none, which is as good.

    `SetError` if there is one that cannot be read."""
    data = files.get(MANIFEST)
    if data is None:
        return None
    if len(data) > MAX_MANIFEST:
        raise SetError(f"{MANIFEST} is larger than {MAX_MANIFEST >> 20} MiB.")
    try:
        found = msgspec.json.decode(data, type=Submission)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SetError(f"{MANIFEST} cannot be read: {error}") from None
    if found.schema != SCHEMA:
        raise SetError(f'{MANIFEST} has the schema "{found.schema}"; this kerneltutor knows {SCHEMA}.')
    return found


def doubts(files: Mapping[str, bytes], exercises: ExerciseSet, student: str | None = None) -> list[Doubt]:
    """What does not agree in a submission's files, by name in the archive; nothing if it has no manifest.

    `student`: whose submission it is taken for. Never raises, and says at most `MAX_DOUBTS`."""
    try:
        manifest = read_submission(files)
    except SetError as error:
        return [Doubt("KT850", f"{MANIFEST} cannot be read; the files were taken as they are.", error.message)]
    return [] if manifest is None else list(islice(_compared(manifest, files, exercises, student), MAX_DOUBTS))


def _compared(
    manifest: Submission, files: Mapping[str, bytes], exercises: ExerciseSet, student: str | None
) -> Iterator[Doubt]:
    if manifest.set != exercises.id:
        said = f"The submission was made for another set, not for {exercises.id}."
        yield Doubt("KT853", said, f'it says "{_cut(manifest.set)}"')
    elif manifest.set_sha256 != exercises.public_sha256:
        said = f"The submission was made with another version of the set {exercises.id} than it is graded with."
        yield Doubt("KT854", said, f"it says {_cut(manifest.set_sha256)}, the set is {exercises.public_sha256}")
    if student is not None and manifest.student is not None and manifest.student != student:
        said = "The submission was made with another student's id than it was handed in under."
        yield Doubt("KT855", said, f'it says "{_cut(manifest.student)}", it was handed in as "{student}"')
    named = {entry.file: entry for entry in manifest.files}
    for name, entry in sorted(named.items()):
        if name not in files:
            yield Doubt("KT852", "A file that the submission lists is not in it.", _cut(name))
        elif (found := hashlib.sha256(files[name]).hexdigest()) != entry.sha256:
            said = "A file is not what it was when the submission was made."
            yield Doubt("KT851", said, f"{name}: it says {_cut(entry.sha256)}, the file is {found}")
    for name in sorted(set(files) - set(named) - {MANIFEST}):
        if name.endswith(".py"):
            yield Doubt("KT852", "A file is in the submission that it does not list.", name)


def _cut(text: str) -> str:
    return text if len(text) <= 200 else text[:199] + "…"


def package_version(package: str) -> str:
    """The version of an installed package, or "none"."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
