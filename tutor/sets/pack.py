"""Packing a set: for students without anything that gives the answers away, for instructors whole."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from tutor.protocol import Figures
from tutor.sets.archive import write_archive
from tutor.sets.errors import SetError
from tutor.sets.exercise import set_files
from tutor.sets.loading import ExerciseSet
from tutor.sets.packed import MANIFEST, Audience, Pack
from tutor.sets.reading import read_text
from tutor.sets.submission import package_version

_SECRET = re.compile(r"(reference|xla|right_.*|wrong_.*)\.py|(hidden|mutants)\.toml|.*\.key")


def pack(
    exercises: ExerciseSet, audience: Audience, figures: Mapping[str, Sequence[Figures]] = {}
) -> tuple[Pack, bytes]:
    """What is said of a pack, and the archive. The same set gives the same bytes, wherever and whenever. `figures` are
    those of the references, by slug, where a rule compares with them; a student's pack has them instead.

    A student's has `exercises/` alone: no solution, no hidden case, no key. `SetError` if the set has an exercise that
    cannot be loaded, a link, or a file in `exercises/` that belongs into `solutions/`."""
    check_whole(exercises, solutions=audience == "instructor")
    files = _read(exercises.root, "exercises")
    secret: frozenset[str] = frozenset()
    if audience == "student":
        _check_public(files, exercises.root)
    else:
        files |= _read(exercises.root, "solutions")
        if exercises.key_file.is_file():
            name = exercises.key_file.relative_to(exercises.root).as_posix()
            files[name] = exercises.key_file.read_bytes()
            secret = frozenset([name])
    manifest = Pack(
        audience=audience,
        set=exercises.id,
        title=exercises.title,
        set_sha256=exercises.public_sha256,
        content_sha256=exercises.sha256 if audience == "instructor" else None,
        kerneltutor=package_version("kerneltutor"),
        figures={slug: list(found) for slug, found in sorted(figures.items())} if audience == "student" else {},
    )
    text = msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"
    return manifest, write_archive({MANIFEST: text, **files}, secret=secret)


def check_whole(exercises: ExerciseSet, *, solutions: bool) -> None:
    """`SetError` for the first file of the set that is missing or cannot be read."""
    for broken in exercises.broken:
        raise broken.error
    for exercise in exercises.exercises:
        needed = [exercise.folder / "lesson.md", exercise.folder / "starter.py", exercise.oracle, exercise.kernels]
        if solutions and exercise.kind == "kernel":
            needed.append(exercise.solutions / "reference.py")
        for path in needed:
            if path is not None:
                read_text(path)
        if solutions:
            exercise.cases(hidden=True)
            _ = exercise.wrongs


def _read(root: Path, folder: str) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for name, path in set_files(root / folder):
        if path.is_symlink():
            raise SetError(f"{path} is a link; a pack holds files only.", "Put the file itself there.")
        files[f"{folder}/{name}"] = path.read_bytes()
    return files


def _check_public(files: dict[str, bytes], root: Path) -> None:
    for name in files:
        if _SECRET.fullmatch(name.rpartition("/")[2]):
            raise SetError(f"{root / name} would be given to students.", "It belongs into solutions/.")
